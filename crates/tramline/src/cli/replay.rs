//! `tramline replay`: replays a run from its journal, offline, to test what changed.

use super::diff::{self, RunDiff};
use super::{CliError, CliResult, CommonArgs, Exit, documents, output, run, runs};
use crate::app::RunOrigin;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_engine::ReplayResult;
use tramline_views::trace::Trace;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// Replay a run from its journal and compare. Exit code 0: the same, 1: different.
#[derive(clap::Args)]
pub(super) struct Replay {
    /// The run
    #[arg(value_name = "RUN", value_parser = runs::run_id)]
    run: RunId,
    /// Another document to replay the run with
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The tool of that document [default: the one with the name of the run's workflow]
    #[arg(value_name = "TOOL", requires = "against")]
    tool: Option<String>,
    /// More MCP servers that the document may use; none is started
    #[arg(long, value_name = "FILE", requires = "against")]
    mcp_config: Option<PathBuf>,
    /// Show values in full
    #[arg(long)]
    full: bool,
}

pub(super) async fn main(common: CommonArgs, verb: Replay) -> CliResult {
    // No servers: every call is answered from the journal.
    let house = runs::open(&common)?;
    let record = house.engine.load(&verb.run).await?;
    let against = match &verb.against {
        None => None,
        Some(file) => Some(replay_graph(&common, &verb, file, &record.run)?),
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

/// The graph to replay the run with.
fn replay_graph(
    common: &CommonArgs,
    verb: &Replay,
    file: &Path,
    record: &Run,
) -> Result<Arc<Graph>, CliError> {
    let mut config = common.config(&super::AccessArgs::default())?;
    let origin = RunOrigin::from_value(&record.started.origin);
    let configured = origin.and_then(|origin| origin.mcp_config);
    let configured = configured.filter(|path| path.exists());
    config.mcp_config = verb.mcp_config.clone().or(configured);
    let elsewhere = documents::known_servers(&config)?;
    let document = documents::read_valid(file, &elsewhere, common.json)?;
    let own = &record.graph.workflow.name;
    let named = document.workflows.iter();
    let like = named.filter(|graph| graph.workflow.name == *own).count();
    let words: Vec<String> = match &verb.tool {
        Some(tool) => vec![tool.clone()],
        None if like == 1 => vec![own.to_string()],
        None => Vec::new(),
    };
    Ok(run::choose_tool(&document, &words)?.0)
}

fn show(verb: &Replay, record: &Trace, again: &ReplayResult) {
    let second = match &verb.against {
        Some(file) => format!("replayed with {}", file.display()),
        None => "replayed".to_owned(),
    };
    let report = RunDiff {
        first: record,
        second: &again.trace,
        comparison: &again.comparison,
        names: [&format!("{} as recorded", record.run_id), &second],
        most: diff::chars_max(verb.full),
    };
    report.show();
    if record.outcome.is_none() {
        output::status_line("the recorded run has not ended");
    }
    for question in &again.unanswered {
        output::text_line(&format!("no recorded answer to the question of {question}"));
    }
    for (tool, calls) in &again.unused {
        output::text_line(&format!(
            "recorded but not called in the replay: {tool} ×{calls}"
        ));
    }
}
