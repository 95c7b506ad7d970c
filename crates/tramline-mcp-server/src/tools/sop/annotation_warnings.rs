//! Warnings about tools that a procedure lists as read-only but whose annotations say otherwise.

use tramline_engine::Engine;
use tramline_engine::ports::ToolHints;
use tramline_expr::Str;
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};
use tramline_workflow::sop::Sop;

/// A warning for each tool under `read_only_tools` whose annotations say that it writes. Uses only tools that
/// are known without asking a server.
pub(super) fn read_only_conflicts(engine: &Engine, sop: &Sop) -> Vec<Flaw> {
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
        named.any(|tool| is_writing(tool.hints))
    };
    let flaw = |name: &Str| Flaw {
        code: FlawCode::WritingTool,
        span: SourceSpan::default(),
        message: format!(
            "`{name}` is under `read_only_tools`, but its annotations say that it writes"
        ),
        suggestion: Some("list it at the nodes that may call it".to_owned()),
    };
    sop.anywhere.iter().filter(writes).map(flaw).collect()
}

fn is_writing(hints: ToolHints) -> bool {
    hints.read_only == Some(false) || (hints.read_only.is_none() && hints.destructive == Some(true))
}
