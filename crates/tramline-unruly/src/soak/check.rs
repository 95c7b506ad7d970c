//! What must hold when a run has ended, however often it was killed.

use super::command::{Said, Setting};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the graph does when nobody disturbs it.
pub(super) struct Expected {
    result: Value,
    /// The calls that may not be repeated, by what tells them apart, with how often they are made.
    calls: BTreeMap<String, usize>,
}

impl Expected {
    /// What a run in peace came to.
    pub(super) fn of(peace: &Setting, reference: &Said) -> Result<Self> {
        let calls = counted(&peace.logged()?);
        ensure!(
            calls.values().all(|&count| count == 1),
            "calls cannot be told apart: {calls:?}"
        );
        Ok(Self {
            result: reference.json["result"].clone(),
            calls,
        })
    }

    /// Holds an ended run against that, and counts the calls that may not be repeated.
    pub(super) fn hold(&self, fire: &Setting, id: &str) -> Result<u64> {
        let shown = fire.run(&["runs", "show", id])?;
        ensure!(shown.exit == 0, "it cannot be shown: {shown:?}");
        let shown = shown.json;
        ensure!(shown["status"] == "completed", "it ended badly: {shown}");
        let result = &shown["outcome"]["result"];
        ensure!(
            *result == self.result,
            "the result is {result} and should be {}",
            self.result
        );
        let calls = fire.logged()?;
        let made = counted(&calls);
        ensure!(
            made == self.calls,
            "the calls are {made:?} and should be {:?}",
            self.calls
        );
        let steps = shown["steps"].as_array().context("no steps")?;
        complete(steps)?;
        keys(id, steps, &calls)?;
        let asked = shown["pauses"].as_array().map_or(&[][..], Vec::as_slice);
        ensure!(
            asked.iter().all(|asked| !asked["answer"].is_null()),
            "a question was left open: {asked:?}"
        );
        Ok(calls.len() as u64)
    }
}

fn counted(calls: &[Value]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for call in calls {
        *counted.entry(call["arguments"].to_string()).or_default() += 1;
    }
    counted
}

/// Every step is told once, from its input to its output.
fn complete(steps: &[Value]) -> Result<()> {
    let mut numbers: Vec<_> = steps.iter().map(|step| step["step"].as_u64()).collect();
    numbers.sort_unstable();
    let wanted: Vec<_> = (1..=steps.len() as u64).map(Some).collect();
    ensure!(numbers == wanted, "the steps are numbered {numbers:?}");
    for step in steps {
        ensure!(
            step["status"] == "succeeded" && step.get("output").is_some(),
            "a step is not told to its end: {step}"
        );
        let is_call = step["kind"] == "call";
        ensure!(
            !is_call || (step.get("input").is_some() && step.get("tool").is_some()),
            "a call is not told whole: {step}"
        );
    }
    Ok(())
}

/// Every call that may not be repeated reached the server under its step's key, and no other.
fn keys(id: &str, steps: &[Value], calls: &[Value]) -> Result<()> {
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
        "the journal tells of {told:?}, the server of {made:?}"
    );
    Ok(())
}
