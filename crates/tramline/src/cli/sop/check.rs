//! `tramline sop check`: every flaw of a procedure at its line.

use super::{as_json, coloured, frames, look, output};
use crate::cli::{Done, Exit};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_core::flaw::Severity;

/// Check a procedure and show every flaw at its line.
#[derive(clap::Args)]
pub(super) struct Check {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print the flowchart with the nodes that something is odd about in red
    #[arg(long)]
    mermaid: bool,
}

pub(super) fn main(verb: &Check, json: bool) -> Done {
    let (read, flawed) = look(&verb.file)?;
    let is_error = |severity: Severity| severity == Severity::Error;
    let errors = flawed
        .flaws
        .iter()
        .filter(|it| is_error(it.code.severity()))
        .count();
    let warnings = flawed.flaws.len() - errors;
    let picture = read.as_ref().filter(|_| verb.mermaid).map(|read| {
        let sop = Arc::new(read.sop.clone());
        let is_odd = |line: &usize| flawed.flaws.iter().any(|flaw| flaw.place.line == *line);
        let nodes = read.sop.nodes.iter().zip(&read.lines);
        let odd = nodes
            .filter(|(_, line)| is_odd(line))
            .map(|(node, _)| (node.id.as_str(), "#fcc"));
        coloured(&sop, odd)
    });
    if json {
        let counts = read
            .as_ref()
            .map(|read| (read.sop.nodes.len(), read.sop.edges.len()));
        output::line(&serde_json::json!({
            "sound": errors == 0,
            "nodes": counts.map(|it| it.0),
            "edges": counts.map(|it| it.1),
            "flaws": as_json(&flawed).collect::<Vec<_>>(),
            "mermaid": picture,
        }));
    } else {
        frames::show(&flawed);
        if let Some(picture) = picture {
            output::result(picture.trim_end());
        }
        let size = read.as_ref().map_or_else(String::new, |read| {
            format!(
                "{} nodes, {} ways, ",
                read.sop.nodes.len(),
                read.sop.edges.len()
            )
        });
        output::say(&format!("{size}{errors} errors, {warnings} warnings"));
    }
    Ok(if errors > 0 {
        Exit::BadInput
    } else {
        Exit::Done
    })
}
