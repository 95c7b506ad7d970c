//! `tramline runs export`: a run as one file. Of a damaged journal it writes everything that can be
//! read.

use super::super::{CliResult, CommonArgs, Exit, output};
use super::open;
use std::path::PathBuf;
use tramline_workflow::ids::RunId;

/// Write a run to a file.
#[derive(clap::Args)]
pub(super) struct ExportArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// Write to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn main(common: CommonArgs, verb: ExportArgs) -> CliResult {
    let house = open(&common)?;
    let (file, unreadable) = house.engine.export_readable(&verb.run).await?;
    let text = String::from_utf8_lossy(&file).into_owned();
    let Some(path) = verb.out else {
        output::json(&text);
        return Ok(Exit::Done);
    };
    output::write_file(&path, &(text + "\n"))?;
    let run = &verb.run;
    if common.json {
        let told = serde_json::json!({"run_id": run, "path": path, "unreadable": unreadable});
        output::line(&told);
        return Ok(Exit::Done);
    }
    output::status_line(&format!("wrote {run} to {}", path.display()));
    for event in &unreadable {
        output::status_line(&format!("cannot read event {}: {}", event.seq, event.why));
    }
    Ok(Exit::Done)
}
