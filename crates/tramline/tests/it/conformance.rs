//! The protocol's own conformance suite against `tramline serve --http`, at both revisions.
//!
//! Its fixtures are graphs, in `tests/conformance`. Features that are not served are listed in
//! `expected-failures.yaml`, each with a reason. The suite only fails on what a revision requires;
//! here its other checks must match the same file too, and entries that excuse nothing are rejected.

use crate::support::root;
use crate::test_servers::{Http, installed, node, serve};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tramline_test_server::program;

/// Scenarios of the skills extension, which no revision requires.
const SKILL_SCENARIOS: [&str; 2] = ["sep-2640-skills-enumeration", "sep-2640-skills-manifest"];

/// The scenarios for clients that concern what we do as a client of downstream servers, with their revisions.
const CLIENT_SCENARIOS: [(&str, &[&str]); 9] = [
    ("initialize", &["2025-11-25"]),
    ("tools_call", &REVISIONS),
    ("sse-retry", &["2025-11-25"]),
    ("request-metadata", &["2026-07-28"]),
    ("http-standard-headers", &["2026-07-28"]),
    ("http-custom-headers", &["2026-07-28"]),
    ("http-invalid-tool-headers", &["2026-07-28"]),
    ("json-schema-ref-no-deref", &["2026-07-28"]),
    ("json-schema-2020-12-preservation", &REVISIONS),
];

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
    let documents = ["tools", "inputs", "tasks", "content", "changing"].map(|name| {
        let name = PathBuf::from(name).with_extension("yaml");
        std::fs::copy(fixtures().join(&name), folder.join(&name)).unwrap();
        name
    });
    let mut command = serve(&documents, &folder.join("data"));
    command.arg("--allow-shell").current_dir(folder);
    command.env("TRAMLINE_UNRULY", program::test_server().unwrap());
    Http::start(command)
}

/// Runs the suite against a server and prints its summary.
fn run(node: &Path, suite: &Path, what: &[&str]) -> Results {
    let served = tempfile::tempdir().unwrap();
    let server = start(served.path());
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(node)
        .arg(suite)
        .args(["server", "--url", &server.url()])
        .args(what)
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
    println!("{what:?}\n{summary}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what:?}: {said}\n{errors}");
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
        let results = run(&node, &suite, &["--requirements", revision]);
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
    for scenario in SKILL_SCENARIOS {
        let results = run(&node, &suite, &["--scenario", scenario]);
        for (scenario, checks) in &results {
            let failed = checks.iter().filter(|(_, passed)| !**passed);
            unexpected.extend(failed.map(|(check, _)| format!("{scenario}:{check}")));
        }
        assert!(
            results.values().any(|checks| checks.len() > 1),
            "{scenario}: {results:?}"
        );
    }
    assert!(unexpected.is_empty(), "failed: {unexpected:#?}");
    assert!(unused.is_empty(), "excuse nothing: {unused:#?}");
}

/// The result of a client scenario: what its checks said, and what the client printed.
fn run_client(node: &Path, suite: &Path, scenario: &str, revision: &str) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("crates/tramline/tests/clients/conformance_client.cjs");
    let output = Command::new(node)
        .arg(suite)
        .args([
            "client",
            "--scenario",
            scenario,
            "--spec-version",
            revision,
            "--timeout",
            "120000",
        ])
        .arg("--command")
        .arg(format!("{} {}", node.display(), script.display()))
        .arg("--output-dir")
        .arg(folder.path())
        .env("TRAMLINE_BIN", env!("CARGO_BIN_EXE_tramline"))
        .output()
        .unwrap();
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut failed, mut passed) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap().path();
        said += &std::fs::read_to_string(entry.join("stdout.txt")).unwrap_or_default();
        let Ok(text) = std::fs::read_to_string(entry.join("checks.json")) else {
            continue;
        };
        let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
        for check in checks {
            match check["status"].as_str().unwrap() {
                "SUCCESS" => passed += 1,
                "FAILURE" | "WARNING" => failed.push(check.to_string()),
                _ => {}
            }
        }
    }
    if passed == 0 {
        failed.push("no check passed".to_owned());
    }
    (failed, said)
}

#[test]
fn the_conformance_suite_accepts_us_as_a_client() {
    let suite = installed("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let (Some(node), Some(suite)) = (node(), suite) else {
        return;
    };
    let mut all = Vec::new();
    for (scenario, revisions) in CLIENT_SCENARIOS {
        for revision in revisions {
            let (failed, said) = run_client(&node, &suite, scenario, revision);
            if !failed.is_empty() {
                all.push(format!("{revision} {scenario}: {failed:#?}\n{said}"));
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
