//! `tramline sop coverage`: what many conversations took of a procedure.

use super::{Conversations, gather, output};
use crate::cli::{Common, Done, Exit, Stopped};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tramline_core::navigate::audit::Auditor;
use tramline_core::navigate::{Procedure, coverage};
use tramline_core::sop::Sop;

/// Which nodes and ways did conversations take, and where did they stop?
#[derive(clap::Args)]
pub(super) struct Coverage {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    held: Conversations,
    /// Print the flowchart with counts
    #[arg(long)]
    mermaid: bool,
}

pub(super) async fn main(common: &Common, verb: &Coverage) -> Done {
    let read = gather(&verb.file, common.json)?;
    let transcripts = verb.held.read(common, &read.sops[0]).await?;
    let auditor = Auditor::new(&read, &transcripts).map_err(Stopped::bad)?;
    let procedures = auditor.procedures().iter();
    let mut found: Vec<_> = procedures.map(|it| coverage::Coverage::new(it)).collect();
    for transcript in &transcripts {
        let verdict = auditor.audit(transcript).map_err(Stopped::bad)?;
        for (number, (one, of)) in found.iter_mut().zip(auditor.procedures()).enumerate() {
            one.add(of, number, &verdict);
        }
    }
    let both: Vec<_> = found.iter().zip(auditor.procedures()).collect();
    if common.json {
        let mut all = both.iter().map(|(one, of)| told(one, of, verb.mermaid));
        let mut first = all.next().unwrap_or_default();
        first["inside"] = all.collect();
        output::line(&first);
        return Ok(Exit::Done);
    }
    for (one, of) in both {
        show(one, of, verb.mermaid);
    }
    Ok(Exit::Done)
}

/// The ids at both ends of an edge.
fn ends(sop: &Sop, at: usize) -> (&str, &str) {
    let edge = &sop.edges[at];
    (
        sop.nodes[edge.from.at()].id.as_str(),
        sop.nodes[edge.to.at()].id.as_str(),
    )
}

fn told(found: &coverage::Coverage, procedure: &Procedure, drawn: bool) -> Json {
    let sop = &procedure.sop;
    let id = |at: usize| sop.nodes[at].id.as_str();
    let (nodes, edges) = found.covered();
    let counted = |counts: &[u64]| -> serde_json::Map<_, _> {
        let all = counts.iter().enumerate();
        all.map(|(at, count)| (id(at).to_owned(), json!(count)))
            .collect()
    };
    let ways = found.edges.iter().enumerate().map(|(at, count)| {
        let (from, to) = ends(sop, at);
        json!({ "from": from, "to": to, "taken": count })
    });
    let off = found.off.iter().map(|((from, to), count)| {
        json!({ "from": from.map(|it| id(it.at())), "to": id(to.at()), "taken": count })
    });
    json!({
        "procedure": sop.name,
        "conversations": found.conversations,
        "nodes_taken": nodes,
        "edges_taken": edges,
        "nodes": counted(&found.nodes),
        "edges": ways.collect::<Vec<_>>(),
        "stopped_at": counted(&found.dropped),
        "off_edges": off.collect::<Vec<_>>(),
        "mermaid": found.picture(procedure).filter(|_| drawn),
    })
}

fn show(found: &coverage::Coverage, procedure: &Procedure, drawn: bool) {
    let sop = &procedure.sop;
    let (nodes, edges) = found.covered();
    if let Some(picture) = found.picture(procedure).filter(|_| drawn) {
        output::result(picture.trim_end());
    } else {
        for (at, count) in found.nodes.iter().enumerate() {
            let stopped = match found.dropped[at] {
                0 => String::new(),
                stopped => format!("  {stopped} stopped here"),
            };
            output::text_line(&format!("{count:>8}  {}{stopped}", sop.nodes[at].id));
        }
        let never = found.edges.iter().enumerate();
        for (at, _) in never.filter(|(_, count)| **count == 0) {
            let (from, to) = ends(sop, at);
            output::text_line(&format!("   never  {from} -> {to}"));
        }
    }
    output::say(&format!(
        "{} conversations took {nodes} of {} nodes and {edges} of {} ways of {}",
        found.conversations,
        sop.nodes.len(),
        sop.edges.len(),
        sop.name
    ));
}
