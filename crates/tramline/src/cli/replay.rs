//! `tramline replay`: a run done again from its record, offline, as a test of what changed.

use super::report::{self, Report};
use super::{Common, Done, Exit, Stopped, documents, output, run, runs};
use crate::wire::Origin;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::ids::RunId;
use tramline_core::run::Run;
use tramline_core::trace::Trace;
use tramline_engine::Replayed;

/// Do a run again from its record and compare. Exit code 0: the same, 1: different.
#[derive(clap::Args)]
pub(super) struct Replay {
    /// Which run
    #[arg(value_name = "RUN", value_parser = runs::run_id)]
    run: RunId,
    /// Another document, held against what happened
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The tool of that document [default: the one called like the run's workflow]
    #[arg(value_name = "TOOL", requires = "against")]
    tool: Option<String>,
    /// More MCP servers that the document may name; none is started
    #[arg(long, value_name = "FILE", requires = "against")]
    mcp_config: Option<PathBuf>,
    /// Show values whole
    #[arg(long)]
    full: bool,
}

pub(super) async fn main(common: Common, verb: Replay) -> Done {
    // No servers: every call is answered from the record.
    let house = runs::open(&common)?;
    let record = house.engine.load(&verb.run).await?;
    let against = match &verb.against {
        None => None,
        Some(file) => Some(other(&common, &verb, file, &record.run)?),
    };
    let again = house.engine.replay(&verb.run, against).await?;
    let same = again.comparison.same && again.unused.is_empty();
    if common.json {
        let unused = again
            .unused
            .iter()
            .map(|(tool, calls)| serde_json::json!({ "tool": tool.to_string(), "calls": calls }));
        output::line(&serde_json::json!({
            "run_id": verb.run,
            "same": same,
            "comparison": again.comparison,
            "unanswered": again.unanswered,
            "unused": unused.collect::<Vec<_>>(),
        }));
    } else {
        let trace = Trace::of(&verb.run, &record.run.graph, &record.entries);
        show(&verb, &trace, &again);
    }
    Ok(if same { Exit::Done } else { Exit::Failed })
}

/// The graph that a run is held against.
fn other(common: &Common, verb: &Replay, file: &Path, record: &Run) -> Result<Arc<Graph>, Stopped> {
    let mut config = common.config(&super::Reach::default())?;
    let origin = Origin::from_value(&record.started.origin);
    let configured = origin.and_then(|origin| origin.mcp_config);
    let configured = configured.filter(|path| path.exists());
    config.mcp_config = verb.mcp_config.clone().or(configured);
    let elsewhere = documents::elsewhere(&config)?;
    let document = documents::read_to_use(file, &elsewhere, common.json)?;
    let own = &record.graph.workflow.name;
    let named = document.workflows.iter();
    let like = named.filter(|graph| graph.workflow.name == *own).count();
    let words: Vec<String> = match &verb.tool {
        Some(tool) => vec![tool.clone()],
        None if like == 1 => vec![own.to_string()],
        None => Vec::new(),
    };
    Ok(run::choose(&document, &words)?.0)
}

fn show(verb: &Replay, record: &Trace, again: &Replayed) {
    let second = match &verb.against {
        Some(file) => format!("as {} does it", file.display()),
        None => "done again".to_owned(),
    };
    let report = Report {
        first: record,
        second: &again.trace,
        comparison: &again.comparison,
        names: [&format!("{} as recorded", record.run_id), &second],
        most: report::chars_max(verb.full),
    };
    report.show();
    if record.outcome.is_none() {
        output::say("the record has no end: the run has not ended");
    }
    for question in &again.unanswered {
        output::text_line(&format!("the record has no answer to what {question} asks"));
    }
    for (tool, calls) in &again.unused {
        output::text_line(&format!(
            "recorded and not called this time: {tool} ×{calls}"
        ));
    }
}
