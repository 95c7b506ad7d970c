//! What must hold when a run has ended, however often it was killed.

use super::command::{CommandEnv, CommandResult};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;

/// The result and calls of the graph when it is not disturbed.
pub(super) struct ExpectedRun {
    result: Value,
    /// The non-repeatable calls, by their arguments, with their counts.
    calls: BTreeMap<String, usize>,
}

impl ExpectedRun {
    /// The expectation from an undisturbed run.
    pub(super) fn of(peace: &CommandEnv, reference: &CommandResult) -> Result<Self> {
        let calls = count_calls(&peace.logged()?);
        ensure!(
            calls.values().all(|&count| count == 1),
            "calls have equal arguments: {calls:?}"
        );
        Ok(Self {
            result: reference.json["result"].clone(),
            calls,
        })
    }

    /// Compares a finished run with the expectation, and counts the non-repeatable calls.
    pub(super) fn verify(&self, fire: &CommandEnv, id: &str) -> Result<u64> {
        let shown = fire.run(&["runs", "show", id])?;
        ensure!(shown.exit == 0, "the run cannot be shown: {shown:?}");
        let shown = shown.json;
        ensure!(
            shown["status"] == "completed",
            "the run did not complete: {shown}"
        );
        let result = &shown["outcome"]["result"];
        ensure!(
            *result == self.result,
            "the result is {result}, expected {}",
            self.result
        );
        let calls = fire.logged()?;
        let made = count_calls(&calls);
        ensure!(
            made == self.calls,
            "the calls are {made:?}, expected {:?}",
            self.calls
        );
        let steps = shown["steps"].as_array().context("no steps")?;
        check_steps(steps)?;
        check_keys(id, steps, &calls)?;
        let asked = shown["pauses"].as_array().map_or(&[][..], Vec::as_slice);
        ensure!(
            asked.iter().all(|asked| !asked["answer"].is_null()),
            "a question was left open: {asked:?}"
        );
        Ok(calls.len() as u64)
    }
}

fn count_calls(calls: &[Value]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for call in calls {
        *counted.entry(call["arguments"].to_string()).or_default() += 1;
    }
    counted
}

/// Checks that every step appears once, with its input and output.
fn check_steps(steps: &[Value]) -> Result<()> {
    let mut numbers: Vec<_> = steps.iter().map(|step| step["step"].as_u64()).collect();
    numbers.sort_unstable();
    let wanted: Vec<_> = (1..=steps.len() as u64).map(Some).collect();
    ensure!(numbers == wanted, "the steps are numbered {numbers:?}");
    for step in steps {
        ensure!(
            step["status"] == "succeeded" && step.get("output").is_some(),
            "a step is incomplete: {step}"
        );
        let is_call = step["kind"] == "call";
        ensure!(
            !is_call || (step.get("input").is_some() && step.get("tool").is_some()),
            "a call has no input or tool: {step}"
        );
    }
    Ok(())
}

/// Checks that every non-repeatable call reached the server with its step's key, and no other.
fn check_keys(id: &str, steps: &[Value], calls: &[Value]) -> Result<()> {
    let mut told: Vec<_> = steps
        .iter()
        .filter(|step| step["tool"] == "u:record")
        .map(|step| (format!("{id}/{}", step["step"]), step["input"].to_string()))
        .collect();
    let mut made: Vec<_> = calls
        .iter()
        .map(|call| {
            let key = call["key"].as_str().unwrap_or_default();
            (key.to_owned(), call["arguments"].to_string())
        })
        .collect();
    told.sort_unstable();
    made.sort_unstable();
    ensure!(
        told == made,
        "the journal has {told:?}, the server logged {made:?}"
    );
    Ok(())
}
