//! Examples are tests: each has an expected result for every tool in it.
//!
//! For `examples/graphs/x.yaml` (`x.json`, `x.pflow.md`) the tests have `expected/graphs/x.expected.json`, a
//! list of `{tool, input, status, result}`, which the example test runs.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use serde_json::Value;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "examples";
const EXPECTED: &str = "expected.json";
/// Where the expected results are: users do not see them among the examples.
const RESULTS: &str = "crates/tramline/tests/expected";
const STATUSES: [&str; 4] = ["completed", "failed", "paused", "rejected"];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    let there_is_a_binary = root.join("crates/tramline/src/main.rs").is_file();
    if there_is_a_binary && !is_tested(root)? {
        found.problem(
            EXAMPLES,
            format!("no test in crates/ runs the cases of *.{EXPECTED}"),
        );
    }
    for path in documents(root)? {
        let place = paths::relative(root, &path);
        let within = path.strip_prefix(root.join(EXAMPLES)).unwrap_or(&path);
        let expected = root.join(RESULTS).join(within).with_extension(EXPECTED);
        let Ok(text) = paths::read(&expected) else {
            found.problem(&place, format!("has no .{EXPECTED} in {RESULTS}"));
            continue;
        };
        let cases: Vec<Value> = match serde_json::from_str(&text) {
            Ok(cases) => cases,
            Err(error) => {
                found.problem(&paths::relative(root, &expected), format!("{error}"));
                continue;
            }
        };
        for problem in cases.iter().filter_map(case_problem) {
            found.problem(&paths::relative(root, &expected), problem);
        }
        for tool in tools(&paths::read(&path)?) {
            if !cases
                .iter()
                .any(|case| case.get("tool").and_then(Value::as_str) == Some(&tool))
            {
                found.problem(&place, format!("has no expected result for `{tool}`"));
            }
        }
    }
    Ok(())
}

/// Every example: YAML, Markdown and JSON.
pub(super) fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(EXAMPLES);
    let mut found = paths::files(&folder, "yaml")?;
    let markdown = paths::files(&folder, "md")?.into_iter();
    found.extend(markdown.filter(|path| path.to_string_lossy().ends_with(".pflow.md")));
    found.extend(paths::files(&folder, "json")?);
    Ok(found)
}

/// Whether a test reads the expected results.
fn is_tested(root: &Path) -> Result<bool> {
    for path in paths::files(&root.join("crates"), "rs")? {
        let of_tests = paths::relative(root, &path).contains("/tests");
        if of_tests && paths::read(&path)?.contains(EXPECTED) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn case_problem(case: &Value) -> Option<String> {
    for field in ["tool", "input", "status"] {
        if case.get(field).is_none() {
            return Some(format!("a case has no `{field}`"));
        }
    }
    let status = case
        .get("status")
        .and_then(Value::as_str)
        .unwrap_or_default();
    (!STATUSES.contains(&status)).then(|| format!("`{status}` is not a run status"))
}

/// The names of a document's tools: in the examples they are indented by two spaces. A JSON
/// document is one tool.
fn tools(text: &str) -> Vec<String> {
    if let Ok(Value::Object(document)) = serde_json::from_str(text) {
        let name = document.get("name").and_then(Value::as_str);
        return name.map(str::to_owned).into_iter().collect();
    }
    text.lines()
        .filter_map(|line| line.strip_prefix("  - name: "))
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect()
}
