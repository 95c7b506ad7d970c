//! Tools that a procedure calls read-only and whose servers say otherwise.

use tramline_core::Str;
use tramline_core::flaw::{Code, Flaw, Place};
use tramline_core::sop::Sop;
use tramline_engine::Engine;
use tramline_engine::seams::Hints;

/// A warning for each tool under `read_only_tools` whose annotations say that it writes. Only what
/// is known without asking a server counts.
pub(super) fn writing(engine: &Engine, sop: &Sop) -> Vec<Flaw> {
    let sources = engine.tools().sources();
    let known: Vec<_> = sources
        .iter()
        .filter_map(|source| source.tools.as_ref())
        .flat_map(|tools| tools.iter())
        .collect();
    let writes = |name: &&Str| {
        let mut named = known
            .iter()
            .filter(|tool| tool.name.tool == **name || tool.name.to_string() == name.as_str());
        named.any(|tool| says_it_writes(tool.hints))
    };
    let flaw = |name: &Str| Flaw {
        code: Code::WritingTool,
        place: Place::default(),
        message: format!("`{name}` under `read_only_tools` writes: its annotations say so"),
        suggestion: Some("list it at the nodes that may call it".to_owned()),
    };
    sop.anywhere.iter().filter(writes).map(flaw).collect()
}

fn says_it_writes(hints: Hints) -> bool {
    hints.read_only == Some(false) || (hints.read_only.is_none() && hints.destructive == Some(true))
}
