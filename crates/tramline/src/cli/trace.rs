//! `tramline trace`: a run as one JSON document, for programs and archives.

use super::{CliError, CliResult, CommonArgs, Exit, output, runs};
use std::path::PathBuf;
use tramline_engine::ports::RunFilter;
use tramline_views::trace::parse_run;
use tramline_workflow::ids::RunId;

/// Print a run as one JSON document.
#[derive(clap::Args)]
pub(super) struct TraceArgs {
    /// The run: its id, the handle of its trace, or latest
    #[arg(value_name = "RUN", value_parser = parse_selector, default_value = LATEST)]
    run: RunSelector,
    /// Write to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const LATEST: &str = "latest";

/// The run to print.
#[derive(Clone)]
enum RunSelector {
    Latest,
    Run(RunId),
}

fn parse_selector(text: &str) -> Result<RunSelector, String> {
    if text == LATEST {
        return Ok(RunSelector::Latest);
    }
    let run = parse_run(text).map(RunSelector::Run);
    run.ok_or_else(|| "a run id from `tramline runs`, or latest".to_owned())
}

pub(super) async fn main(common: CommonArgs, verb: TraceArgs) -> CliResult {
    let house = runs::open(&common)?;
    let run = match verb.run {
        RunSelector::Run(run) => run,
        RunSelector::Latest => {
            let filter = RunFilter {
                limit: 1,
                ..RunFilter::default()
            };
            let newest = house.engine.runs(filter).await?.rows.into_iter().next();
            let none = || CliError::bad_input("no runs yet: `tramline run FILE` starts one");
            newest.ok_or_else(none)?.run
        }
    };
    let trace = house.engine.trace(&run).await?;
    let Some(path) = verb.out else {
        // One line for scripts, indented for people.
        if common.json {
            output::line(&trace);
        } else {
            output::json(&serde_json::to_string_pretty(&trace).unwrap_or_default());
        }
        return Ok(Exit::Done);
    };
    let text = serde_json::to_string_pretty(&trace).unwrap_or_default() + "\n";
    output::write_file(&path, &text)?;
    if common.json {
        output::line(&serde_json::json!({ "run_id": run, "trace_path": path }));
    } else {
        output::status_line(&format!("wrote {run} to {}", path.display()));
    }
    Ok(Exit::Done)
}
