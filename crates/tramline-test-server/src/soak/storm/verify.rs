//! After the storm: every run is finished, and compared with the call log.

use super::super::command::{CommandEnv, CommandResult};
use super::super::random_graph::RECORDED;
use super::StormContext;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;

/// Rounds of answers after which a run must have ended.
const ROUNDS_MAX: u32 = 60;

/// Rows per page of the run list.
const PAGE: &str = "500";

/// The tool whose calls are logged, and must not be repeated.
const RECORD_TOOL: &str = "u:record";

/// Finishes all runs and checks them. A problem with one is a violation.
pub(super) fn finish_all(weather: &StormContext<'_>) -> Result<()> {
    let setting = weather.setting();
    let servers = weather.servers_file().display().to_string();
    let runs = listed(&setting)?;
    let known: Vec<_> = runs.iter().map(String::as_str).collect();
    for run in &runs {
        weather.board().tally.rounds += 1;
        if let Err(error) = finish_run(weather, &setting, run, &servers) {
            weather.violated(format!("{run}: {error:#}"));
        }
    }
    for call in setting.logged()? {
        let key = call["key"].as_str().unwrap_or_default();
        let run = key.split('/').next().unwrap_or_default();
        if !known.contains(&run) {
            weather.violated(format!("a call without a journal: {call}"));
        }
    }
    Ok(())
}

fn listed(setting: &CommandEnv) -> Result<Vec<String>> {
    let mut runs: Vec<String> = Vec::new();
    loop {
        let mut arguments = vec!["runs", "--most", PAGE];
        if let Some(last) = runs.last() {
            arguments.extend(["--after", last]);
        }
        let said = setting.run(&arguments)?;
        let page = said.json["runs"].as_array().context("no list of runs")?;
        let ids: Vec<String> = page
            .iter()
            .filter_map(|run| Some(run["run_id"].as_str()?.to_owned()))
            .collect();
        runs.extend(ids);
        if said.json["more"] != true {
            return Ok(runs);
        }
    }
}

/// Finishes one run with truthful answers, and checks it.
fn finish_run(
    weather: &StormContext<'_>,
    setting: &CommandEnv,
    run: &str,
    servers: &str,
) -> Result<()> {
    for _ in 0..ROUNDS_MAX {
        let shown = show(setting, run)?;
        if !shown["outcome"].is_null() {
            let calls = verify_calls(setting, run, &shown)?;
            weather.board().tally.calls += calls;
            return Ok(());
        }
        for asked in shown["pauses"].as_array().into_iter().flatten() {
            if asked["answer"].is_null() {
                answer(weather, setting, run, asked)?;
            }
        }
        let said = setting.run(&["runs", "resume", run, "--mcp-config", servers])?;
        weather.board().tally.resumed += 1;
        ensure!(
            [0, 1, 4].contains(&said.exit),
            "the run does not continue: {said:?}"
        );
    }
    bail!("the run has not ended after {ROUNDS_MAX} rounds of answers");
}

fn show(setting: &CommandEnv, run: &str) -> Result<Value> {
    let CommandResult { exit, json } = setting.run(&["runs", "show", run])?;
    ensure!(exit == 0, "the journal cannot be read: {json}");
    Ok(json)
}

fn answer(
    weather: &StormContext<'_>,
    setting: &CommandEnv,
    run: &str,
    asked: &Value,
) -> Result<()> {
    let point = asked["checkpoint"].as_str().context("no checkpoint")?;
    let output = serde_json::to_string(RECORDED)?;
    let mut arguments = vec!["runs", "answer", point];
    if asked["kind"] == "in-doubt" {
        let key = format!("{run}/{}", asked["step"]);
        let happened = setting.logged()?.iter().any(|call| call["key"] == *key);
        let tally = &mut weather.board().tally;
        match happened {
            true => {
                tally.happened += 1;
                arguments.extend(["--skip", &output]);
            }
            false => {
                tally.not_happened += 1;
                arguments.push("--retry");
            }
        }
    } else {
        arguments.push("--yes");
    }
    let said = setting.run(&arguments)?;
    ensure!(said.exit == 0, "{arguments:?} was rejected: {said:?}");
    Ok(())
}

/// Compares a finished run with the log; returns the number of its non-repeatable calls.
fn verify_calls(setting: &CommandEnv, run: &str, shown: &Value) -> Result<u64> {
    let status = &shown["status"];
    ensure!(
        status == "completed" || status == "aborted",
        "the run neither completed nor was aborted: {shown}"
    );
    let mut made: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for call in setting.logged()? {
        let key = call["key"].as_str().unwrap_or_default().to_owned();
        if key.starts_with(&format!("{run}/")) {
            made.entry(key).or_default().push(call["arguments"].clone());
        }
    }
    let count = made.len() as u64;
    for step in shown["steps"].as_array().context("no steps")? {
        if step["tool"] != RECORD_TOOL {
            continue;
        }
        let key = format!("{run}/{}", step["step"]);
        let calls = made.remove(&key).unwrap_or_default();
        ensure!(
            calls.len() <= 1,
            "step {step} was called {} times",
            calls.len()
        );
        ensure!(
            calls.iter().all(|call| *call == step["input"]),
            "step {step} was called with {calls:?}"
        );
        let node = &step["input"]["node"];
        ensure!(*node == step["node"], "{step} has another task's arguments");
        let is_told = calls.len() == 1 || step["status"] != "succeeded";
        ensure!(is_told, "step {step} succeeded but was never called");
        check_attempts(shown, step)?;
    }
    ensure!(made.is_empty(), "calls without a step: {made:?}");
    Ok(count)
}

/// Checks that every further attempt of a step was requested by an answer.
fn check_attempts(shown: &Value, step: &Value) -> Result<()> {
    let pauses = shown["pauses"].as_array().into_iter().flatten();
    let retried =
        pauses.filter(|asked| asked["step"] == step["step"] && asked["answer"] == "retry");
    let retried = retried.count() as u64;
    let attempts = step["attempts"].as_u64().unwrap_or(0);
    ensure!(
        attempts == 1 + retried,
        "{attempts} attempts, but {retried} retry answers: {step}"
    );
    Ok(())
}
