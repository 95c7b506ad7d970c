//! Halts a run, steps through it, and tries what would have come of another output.
//!
//! `cargo run --example debug`, in the project's own folder.

#![allow(clippy::print_stdout, reason = "an example shows what it got")]

use serde_json::{Value, json};
use tramline::{Config, Error, Tramline};

/// What came of a run, and of a fork of it in which a step gave something else.
pub(crate) async fn debugged() -> Result<(Value, Value), Error> {
    let tramline = Tramline::open(Config::in_memory())?;
    tramline.load_file("examples/graphs/loop.yaml")?;

    // The loop adds 1, 2, 3. It is to halt when it has added twice.
    let run = tramline
        .start("sum_to_n", json!({ "n": 3 }))
        .halt_when("add", "$executionCount('add') = 2")
        .await?;
    for question in run.wait().await?.questions() {
        println!("{}", question.message);
    }

    // One step, then a look at what it gave.
    run.step().await?;
    run.wait().await?;
    let trace = run.trace().await?;
    let third = trace.step_at("add").and_then(|step| step.output.clone());
    println!("the third turn gave {}", third.unwrap_or_default());

    // On to the end.
    run.go_on().await?;
    let result = run.wait().await?.result()?;

    // The same past up to the second turn, which is now taken to have given 100.
    let turns = trace.steps.iter().filter(|step| step.node == "add");
    let second = turns.map(|step| step.step).nth(1).unwrap_or_default();
    let fork = run
        .fork(second)
        .output(json!({ "turn": 2, "sum": 100 }))
        .await?;
    let forked = fork.wait().await?.result()?;

    // Done again from its journal, the run is the same; the fork is not.
    println!(
        "replay is the same: {}",
        run.replay(None).await?.comparison.same
    );
    println!("fork is the same: {}", run.compare(&fork).await?.same);
    Ok((result, forked))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (result, forked) = debugged().await?;
    println!("{result}\n{forked}");
    Ok(())
}
