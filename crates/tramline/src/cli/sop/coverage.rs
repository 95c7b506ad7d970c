//! `tramline sop coverage`: what many conversations took of a procedure.

use super::{Conversations, output, read};
use crate::cli::{Common, Done, Exit, Stopped};
use serde_json::json;
use std::path::PathBuf;
use tramline_core::navigate::audit::Auditor;
use tramline_core::navigate::coverage;

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
    let sop = read(&verb.file, common.json)?.sop;
    let transcripts = verb.held.read(common, &sop).await?;
    let auditor = Auditor::new(&sop, &transcripts).map_err(Stopped::bad)?;
    let procedure = auditor.procedure();
    let mut found = coverage::Coverage::new(procedure);
    for transcript in &transcripts {
        let verdict = auditor.audit(transcript).map_err(Stopped::bad)?;
        found.add(procedure, &verdict);
    }
    let picture = found.picture(procedure).filter(|_| verb.mermaid);
    let (nodes, edges) = found.covered();
    let id = |at: usize| sop.nodes[at].id.as_str();
    let ends = |at: usize| (id(sop.edges[at].from.at()), id(sop.edges[at].to.at()));
    if common.json {
        let counted = |counts: &[u64]| -> serde_json::Map<_, _> {
            let all = counts.iter().enumerate();
            all.map(|(at, count)| (id(at).to_owned(), json!(count)))
                .collect()
        };
        let ways = found.edges.iter().enumerate().map(|(at, count)| {
            let (from, to) = ends(at);
            json!({ "from": from, "to": to, "taken": count })
        });
        let off = found.off.iter().map(|((from, to), count)| {
            json!({ "from": from.map(|it| id(it.at())), "to": id(to.at()), "taken": count })
        });
        output::line(&json!({
            "conversations": found.conversations,
            "nodes_taken": nodes,
            "edges_taken": edges,
            "nodes": counted(&found.nodes),
            "edges": ways.collect::<Vec<_>>(),
            "stopped_at": counted(&found.dropped),
            "off_edges": off.collect::<Vec<_>>(),
            "mermaid": picture,
        }));
        return Ok(Exit::Done);
    }
    if let Some(picture) = picture {
        output::text_line(picture.trim_end());
    } else {
        for (at, count) in found.nodes.iter().enumerate() {
            let stopped = match found.dropped[at] {
                0 => String::new(),
                stopped => format!("  {stopped} stopped here"),
            };
            output::text_line(&format!("{count:>8}  {}{stopped}", id(at)));
        }
        for (at, _) in found
            .edges
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
        {
            let (from, to) = ends(at);
            output::text_line(&format!("   never  {from} -> {to}"));
        }
    }
    output::say(&format!(
        "{} conversations took {nodes} of {} nodes and {edges} of {} ways",
        found.conversations,
        sop.nodes.len(),
        sop.edges.len()
    ));
    Ok(Exit::Done)
}
