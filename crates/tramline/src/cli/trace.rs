//! `tramline trace`: a run as one JSON document, for programs and archives.

use super::{CliResult, CommonArgs, Exit, output, runs};
use std::path::PathBuf;
use tramline_workflow::ids::RunId;

/// Print a run as one JSON document.
#[derive(clap::Args)]
pub(super) struct TraceArgs {
    /// The run: its id, the start of it, the handle of its trace, or latest
    #[arg(value_name = "RUN", value_parser = runs::run_id, default_value = "latest")]
    run: RunId,
    /// Write to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn main(common: CommonArgs, verb: TraceArgs) -> CliResult {
    let house = runs::open(&common)?;
    let run = verb.run;
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
