//! `tramline trace`: a run as one JSON document, for programs and for keeping.

use super::{Common, Done, Exit, Stopped, output, runs};
use std::path::PathBuf;
use tramline_core::ids::RunId;
use tramline_core::trace::run_of;
use tramline_engine::seams::RunFilter;

/// Print a run as one JSON document.
#[derive(clap::Args)]
pub(super) struct Tracing {
    /// Which run: its id, the handle of its trace, or latest
    #[arg(value_name = "RUN", value_parser = which, default_value = LATEST)]
    run: Which,
    /// Write it into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const LATEST: &str = "latest";

/// Which run is meant.
#[derive(Clone)]
enum Which {
    Latest,
    Run(RunId),
}

fn which(text: &str) -> Result<Which, String> {
    if text == LATEST {
        return Ok(Which::Latest);
    }
    let run = run_of(text).map(Which::Run);
    run.ok_or_else(|| "a run as `tramline runs` lists them, or latest".to_owned())
}

pub(super) async fn main(common: Common, verb: Tracing) -> Done {
    let house = runs::open(&common)?;
    let run = match verb.run {
        Which::Run(run) => run,
        Which::Latest => {
            let filter = RunFilter {
                most: 1,
                ..RunFilter::default()
            };
            let newest = house.engine.runs(filter).await?.rows.into_iter().next();
            let none = || Stopped::bad("no runs yet: `tramline run FILE` makes one");
            newest.ok_or_else(none)?.run
        }
    };
    let trace = house.engine.trace(&run).await?;
    let Some(path) = verb.out else {
        // For scripts one line, for people one that can be read.
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
        output::say(&format!("{run} is written into {}", path.display()));
    }
    Ok(Exit::Done)
}
