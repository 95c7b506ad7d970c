//! Watches a run step by step as it happens.
//!
//! Run it with `cargo run --example hooks` in the root of the repository.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use serde_json::json;
use std::sync::mpsc;
use tramline::{Config, Error, Tramline};

/// Collects one line for each step that ended and one for the end of the run.
pub(crate) async fn watched() -> Result<Vec<String>, Error> {
    let tramline = Tramline::open(Config::in_memory().root("examples"))?;
    tramline.load_file("examples/graphs/file_utils.yaml")?;

    // Hooks get plain data. They are called one at a time, in the task that awaits the run.
    let (tell, told) = mpsc::channel();
    let last = tell.clone();
    tramline
        .run("count_files", json!({ "directory": "data" }))
        .session("nightly")
        .on_step_start(|step| println!("{} starts", step.node))
        .on_step_finish(move |step| {
            let what = step.tool.as_deref().unwrap_or(step.kind);
            let _ = tell.send(format!("{} ({what}) {}", step.node, step.status));
        })
        .on_finish(move |ended| {
            let _ = last.send(format!("{:?}", ended.kind));
        })
        .await?;
    Ok(told.into_iter().collect())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    for line in watched().await? {
        println!("{line}");
    }
    Ok(())
}
