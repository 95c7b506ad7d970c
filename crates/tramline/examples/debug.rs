//! Halts a run, steps through it, and tries what a different output would have changed.
//!
//! Run it with `cargo run --example debug` in the root of the repository.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use serde_json::{Value, json};
use tramline::{Config, Error, Tramline};

/// The result of a run, and of a fork of it in which one step has a different output.
pub(crate) async fn debugged() -> Result<(Value, Value), Error> {
    let tramline = Tramline::open(Config::in_memory())?;
    tramline.load_file("examples/graphs/loop.yaml")?;

    // The loop adds 1, 2, 3. Halt after two additions.
    let run = tramline
        .start("sum_to_n", json!({ "n": 3 }))
        .halt_when("add", "$executionCount('add') = 2")
        .await?;
    for question in run.wait().await?.questions() {
        println!("{}", question.message);
    }

    // One step, then read its output.
    run.step().await?;
    run.wait().await?;
    let trace = run.trace().await?;
    let third = trace.step_at("add").and_then(|step| step.output.clone());
    println!("the third turn gave {}", third.unwrap_or_default());

    // Continue to the end.
    run.continue_run().await?;
    let result = run.wait().await?.result()?;

    // The same history up to the second iteration, whose output is now 100.
    let turns = trace.steps.iter().filter(|step| step.node == "add");
    let second = turns.map(|step| step.step).nth(1).unwrap_or_default();
    let fork = run
        .fork(second)
        .output(json!({ "turn": 2, "sum": 100 }))
        .await?;
    let forked = fork.wait().await?.result()?;

    // A replay from the journal is identical; the fork is not.
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
