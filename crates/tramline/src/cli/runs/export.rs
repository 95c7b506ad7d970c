//! `tramline runs export`: a run as one file. Of a damaged journal it writes what can be read.

use super::super::{Common, Done, Exit, output};
use super::open;
use std::path::PathBuf;
use tramline_core::ids::RunId;

/// Write a run as one file.
#[derive(clap::Args)]
pub(super) struct Export {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// Write it into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn main(common: Common, verb: Export) -> Done {
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
    output::say(&format!("{run} is written into {}", path.display()));
    for event in &unreadable {
        output::say(&format!(
            "event {} cannot be read: {}",
            event.seq, event.why
        ));
    }
    Ok(Exit::Done)
}
