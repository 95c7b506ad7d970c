//! A run that waits for a person, across a restart of the program.
//!
//! Run it with `cargo run --example approve` in the root of the repository.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use serde_json::{Value, json};
use std::path::Path;
use tramline::{Answer, Config, Error, RunId, Tramline};

const DOCUMENT: &str = "examples/graphs/approval.yaml";

/// Starts a run that needs approval. It pauses, and this program could end here.
pub(crate) async fn ask(data: &Path) -> Result<RunId, Error> {
    let tramline = Tramline::open(Config::at(data.join("runs")).root(data))?;
    tramline.load_file(DOCUMENT)?;
    let input = json!({ "path": data.join("note.txt"), "text": "Leave at nine." });
    let ended = tramline.run("write_note", input).await?;
    for question in ended.questions() {
        println!("{} (one of {:?})", question.message, question.options);
    }
    tramline.close().await;
    Ok(ended.run)
}

/// Later, in another process: finds the run, answers, and waits for its result.
pub(crate) async fn agree(data: &Path, run: &RunId) -> Result<Value, Error> {
    let tramline = Tramline::open(Config::at(data.join("runs")).root(data).name("night shift"))?;
    tramline.load_file(DOCUMENT)?;
    let run = tramline.get(run).await?;
    for question in run.wait().await?.questions() {
        let yes = Answer::proceed()
            .by("Ada")
            .because("the note is out of date");
        run.answer(&question.checkpoint, yes).await?;
    }
    let result = run.wait().await?.result();
    tramline.close().await;
    result
}

/// The same in one process: the program answers, or asks whomever it wants.
pub(crate) async fn at_once(data: &Path) -> Result<Value, Error> {
    let tramline = Tramline::open(Config::in_memory().root(data))?;
    tramline.load_file(DOCUMENT)?;
    let input = json!({ "path": data.join("note.txt"), "text": "Leave at ten." });
    let request = tramline.run("write_note", input);
    let ended = request
        .answer_with(|question| async move {
            // Here a program would wait for a button, a message or a person.
            (question.kind == "approval").then(Answer::proceed)
        })
        .await?;
    ended.result()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let data = std::env::temp_dir().join("tramline-approve");
    std::fs::create_dir_all(&data)?;
    let run = ask(&data).await?;
    println!("{}", agree(&data, &run).await?);
    println!("{}", at_once(&data).await?);
    Ok(())
}
