//! After the storm: every run is brought to its end, and held against the log of calls.

use super::super::command::{Said, Setting};
use super::super::plan::RECORDED;
use super::Weather;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;

/// A run that has not ended after so many rounds of answers never will.
const ROUNDS_MAX: u32 = 60;

/// Rows of a page of the list of runs.
const PAGE: &str = "500";

/// The tool whose calls are logged, and may not be repeated.
const ONCE: &str = "u:record";

/// Brings all runs to their end and checks them. What is wrong with one is a violation.
pub(super) fn all(weather: &Weather<'_>) -> Result<()> {
    let setting = weather.setting();
    let servers = weather.servers_file().display().to_string();
    let runs = listed(&setting)?;
    let known: Vec<_> = runs.iter().map(String::as_str).collect();
    for run in &runs {
        weather.board().tally.rounds += 1;
        if let Err(error) = ended(weather, &setting, run, &servers) {
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

fn listed(setting: &Setting) -> Result<Vec<String>> {
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

/// Brings one run to its end, answering truthfully, and checks it.
fn ended(weather: &Weather<'_>, setting: &Setting, run: &str, servers: &str) -> Result<()> {
    for _ in 0..ROUNDS_MAX {
        let shown = show(setting, run)?;
        if !shown["outcome"].is_null() {
            let calls = held(setting, run, &shown)?;
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
            "it does not go on: {said:?}"
        );
    }
    bail!("it has not ended after {ROUNDS_MAX} rounds of answers");
}

fn show(setting: &Setting, run: &str) -> Result<Value> {
    let Said { exit, json } = setting.run(&["runs", "show", run])?;
    ensure!(exit == 0, "its own fold refuses the journal: {json}");
    Ok(json)
}

fn answer(weather: &Weather<'_>, setting: &Setting, run: &str, asked: &Value) -> Result<()> {
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
    ensure!(said.exit == 0, "{arguments:?} was refused: {said:?}");
    Ok(())
}

/// Holds a run that is over against the log: gives how many of its calls may not be repeated.
fn held(setting: &Setting, run: &str, shown: &Value) -> Result<u64> {
    let status = &shown["status"];
    ensure!(
        status == "completed" || status == "aborted",
        "it ended badly: {shown}"
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
        if step["tool"] != ONCE {
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
        ensure!(is_told, "step {step} succeeded and was never called");
        asked_for(shown, step)?;
    }
    ensure!(made.is_empty(), "calls without a step: {made:?}");
    Ok(count)
}

/// Further attempts of a step were all asked for.
fn asked_for(shown: &Value, step: &Value) -> Result<()> {
    let pauses = shown["pauses"].as_array().into_iter().flatten();
    let retried =
        pauses.filter(|asked| asked["step"] == step["step"] && asked["answer"] == "retry");
    let retried = retried.count() as u64;
    let attempts = step["attempts"].as_u64().unwrap_or(0);
    ensure!(
        attempts == 1 + retried,
        "{attempts} attempts and {retried} answers that ask for one: {step}"
    );
    Ok(())
}
