//! The protocol's own conformance suite against `tramline serve --http`, at both revisions.
//!
//! Its fixtures are graphs, in `tests/conformance`. Features that are not served are listed in
//! `expected-failures.yaml`, each with a reason. The suite only fails on what a revision requires;
//! here its other checks must match the same file too, and entries that excuse nothing are rejected.

use crate::test_servers::{Http, installed, node, serve};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tramline_test_server::program;

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn expected_file() -> PathBuf {
    fixtures().join("expected-failures.yaml")
}

/// The entries of the file: a scenario, or `scenario:check`.
fn expected() -> BTreeSet<String> {
    let text = std::fs::read_to_string(expected_file()).unwrap();
    let entries = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    entries
        .map(|line| {
            let (entry, reason) = line.split_once(" # ").unwrap_or((line, ""));
            assert!(!reason.trim().is_empty(), "`{entry}` has no reason");
            entry.trim().to_owned()
        })
        .collect()
}

/// Each scenario's checks, with whether each passed.
type Results = BTreeMap<String, BTreeMap<String, bool>>;

/// Reads the suite's results, one folder for each scenario.
fn results(folder: &Path) -> Results {
    let mut results = Results::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        // `server-SCENARIO-2026-01-31T12-00-00-000Z`
        let (scenario, _) = name.split_at(name.len() - "-2026-01-31T12-00-00-000Z".len());
        let scenario = scenario.strip_prefix("server-").unwrap().to_owned();
        let text = std::fs::read_to_string(entry.path().join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
        let passed = results.entry(scenario).or_default();
        for check in checks {
            let good = match check["status"].as_str().unwrap() {
                "SUCCESS" => true,
                // A warning is a recommendation that is not met.
                "FAILURE" | "WARNING" => false,
                "SKIPPED" | "INFO" => continue,
                other => panic!("{other}: {check}"),
            };
            let id = check["id"].as_str().unwrap().to_owned();
            *passed.entry(id).or_insert(true) &= good;
        }
    }
    results
}

/// The documents, served over HTTP from a separate folder: one of them is edited meanwhile.
fn start(folder: &Path) -> Http {
    let documents = ["tools", "inputs", "tasks", "changing"].map(|name| {
        let name = PathBuf::from(name).with_extension("yaml");
        std::fs::copy(fixtures().join(&name), folder.join(&name)).unwrap();
        name
    });
    let mut command = serve(&documents, &folder.join("data"));
    command.arg("--allow-shell").current_dir(folder);
    command.env("TRAMLINE_UNRULY", program::test_server().unwrap());
    Http::start(command)
}

/// Runs the suite and prints its summary.
fn run(node: &Path, suite: &Path, revision: &str) -> Results {
    let served = tempfile::tempdir().unwrap();
    let server = start(served.path());
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(node)
        .arg(suite)
        .args(["server", "--url", &server.url(), "--requirements", revision])
        .arg("--expected-failures")
        .arg(expected_file())
        .arg("--output-dir")
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = said
        .split_once("=== SUMMARY ===")
        .map_or("", |(_, rest)| rest);
    println!("{revision}\n{summary}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{revision}: {summary}\n{errors}");
    results(folder.path())
}

/// Whether an entry excuses a check.
fn excuses(entry: &str, scenario: &str, check: &str) -> bool {
    match entry.split_once(':') {
        Some((in_scenario, only)) => in_scenario == scenario && only == check,
        None => entry == scenario,
    }
}

#[test]
fn the_conformance_suite_finds_only_what_is_not_served() {
    let suite = installed("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let (Some(node), Some(suite)) = (node(), suite) else {
        return;
    };
    let expected = expected();
    let mut unused = expected.clone();
    let mut unexpected = Vec::new();
    for revision in REVISIONS {
        let results = run(&node, &suite, revision);
        assert!(
            results.len() > 30,
            "{revision}: {} scenarios",
            results.len()
        );
        let (mut good, mut all) = (0, 0);
        for (scenario, checks) in &results {
            all += 1;
            good += usize::from(checks.values().all(|passed| *passed));
            for (check, _) in checks.iter().filter(|(_, passed)| !**passed) {
                let excused: Vec<_> = expected
                    .iter()
                    .filter(|entry| excuses(entry, scenario, check))
                    .collect();
                if excused.is_empty() {
                    unexpected.push(format!("{revision} {scenario}:{check}"));
                }
                unused.retain(|entry| !excused.contains(&entry));
            }
        }
        println!("{revision}: {good} of {all} scenarios pass without an exception\n");
    }
    assert!(unexpected.is_empty(), "failed: {unexpected:#?}");
    assert!(unused.is_empty(), "excuse nothing: {unused:#?}");
}
