//! Watches a run step by step while it happens.
//!
//! `cargo run --example hooks`, in the project's own folder.

#![allow(clippy::print_stdout, reason = "an example shows what it got")]

use serde_json::json;
use std::sync::mpsc;
use tramline::{Config, Error, Tramline};

/// What was told of a run, a line for each step that ended and one for the end.
pub(crate) async fn watched() -> Result<Vec<String>, Error> {
    let tramline = Tramline::open(Config::in_memory().root("examples"))?;
    tramline.load_file("examples/graphs/file_utils.yaml")?;

    // Hooks get plain data. They are called in the task that awaits the run, one after the other.
    let (tell, told) = mpsc::channel();
    let last = tell.clone();
    tramline
        .run("count_files", json!({ "directory": "data" }))
        .session("nightly")
        .on_step_start(|step| println!("{} begins", step.node))
        .on_step_finish(move |step| {
            let what = step.tool.as_deref().unwrap_or(step.kind);
            let _ = tell.send(format!("{} ({what}) {}", step.node, step.status));
        })
        .on_finish(move |ended| {
            let _ = last.send(format!("{:?}", ended.how));
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
