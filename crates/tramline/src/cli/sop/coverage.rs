//! `tramline sop coverage`: which parts of a procedure many sessions covered.

use super::{SessionArgs, output, read_with_includes};
use crate::cli::{CliError, CliResult, CommonArgs, Exit};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tramline_sop::audit::Auditor;
use tramline_sop::{Procedure, coverage};
use tramline_views::sop_coverage_chart;
use tramline_workflow::sop::Sop;

/// Show which nodes and edges sessions took, and where they stopped.
#[derive(clap::Args)]
pub(super) struct SopCoverageArgs {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    held: SessionArgs,
    /// Print the flowchart with counts
    #[arg(long)]
    mermaid: bool,
}

pub(super) async fn main(common: &CommonArgs, verb: &SopCoverageArgs) -> CliResult {
    let read = read_with_includes(&verb.file, common.json)?;
    let transcripts = verb.held.read(common, &read.sops[0]).await?;
    let auditor = Auditor::new(&read, &transcripts).map_err(CliError::bad_input)?;
    let procedures = auditor.procedures().iter();
    let mut found: Vec<_> = procedures
        .map(|it| coverage::SopCoverage::new(it))
        .collect();
    for transcript in &transcripts {
        let verdict = auditor.audit(transcript).map_err(CliError::bad_input)?;
        for (number, (one, of)) in found.iter_mut().zip(auditor.procedures()).enumerate() {
            one.add(of, number, &verdict);
        }
    }
    let both: Vec<_> = found.iter().zip(auditor.procedures()).collect();
    if common.json {
        let mut all = both
            .iter()
            .map(|(one, of)| coverage_json(one, of, verb.mermaid));
        let mut first = all.next().unwrap_or_default();
        first["inside"] = all.collect();
        output::line(&first);
        return Ok(Exit::Done);
    }
    for (one, of) in both {
        print_coverage(one, of, verb.mermaid);
    }
    Ok(Exit::Done)
}

/// The ids of the two nodes of an edge.
fn edge_nodes(sop: &Sop, at: usize) -> (&str, &str) {
    let edge = &sop.edges[at];
    (
        sop.nodes[edge.from.index()].id.as_str(),
        sop.nodes[edge.to.index()].id.as_str(),
    )
}

fn coverage_json(found: &coverage::SopCoverage, procedure: &Procedure, drawn: bool) -> Json {
    let sop = &procedure.sop;
    let id = |at: usize| sop.nodes[at].id.as_str();
    let (nodes, edges) = found.covered();
    let counted = |counts: &[u64]| -> serde_json::Map<_, _> {
        let all = counts.iter().enumerate();
        all.map(|(at, count)| (id(at).to_owned(), json!(count)))
            .collect()
    };
    let ways = found.edges.iter().enumerate().map(|(at, count)| {
        let (from, to) = edge_nodes(sop, at);
        json!({ "from": from, "to": to, "taken": count })
    });
    let off = found.off_edge_moves.iter().map(|((from, to), count)| {
        json!({ "from": from.map(|it| id(it.index())), "to": id(to.index()), "taken": count })
    });
    json!({
        "procedure": sop.name,
        "conversations": found.sessions,
        "nodes_taken": nodes,
        "edges_taken": edges,
        "nodes": counted(&found.nodes),
        "edges": ways.collect::<Vec<_>>(),
        "stopped_at": counted(&found.stopped),
        "off_edges": off.collect::<Vec<_>>(),
        "mermaid": sop_coverage_chart::mermaid(found, procedure).filter(|_| drawn),
    })
}

fn print_coverage(found: &coverage::SopCoverage, procedure: &Procedure, drawn: bool) {
    let sop = &procedure.sop;
    let (nodes, edges) = found.covered();
    if let Some(picture) = sop_coverage_chart::mermaid(found, procedure).filter(|_| drawn) {
        output::result(picture.trim_end());
    } else {
        for (at, count) in found.nodes.iter().enumerate() {
            let stopped = match found.stopped[at] {
                0 => String::new(),
                stopped => format!("  {stopped} stopped here"),
            };
            output::text_line(&format!("{count:>8}  {}{stopped}", sop.nodes[at].id));
        }
        let never = found.edges.iter().enumerate();
        for (at, _) in never.filter(|(_, count)| **count == 0) {
            let (from, to) = edge_nodes(sop, at);
            output::text_line(&format!("   never  {from} -> {to}"));
        }
    }
    output::status_line(&format!(
        "{} sessions took {nodes} of {} nodes and {edges} of {} edges of {}",
        found.sessions,
        sop.nodes.len(),
        sop.edges.len(),
        sop.name
    ));
}
