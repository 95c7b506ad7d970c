//! Schemas for editors, the GitHub action and the pre-commit hook, run as their hosts run them.

use crate::support::{CommandResult, Tramline, root};
use crate::test_servers::installed;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tramline::expr::{Map, Value};
use tramline_syntax::document;

const GOOD: &str = "version: '1'\nserver: {name: s, version: '1'}\ntools:\n  - name: t\n    \
    description: d\n    inputSchema: {type: object}\n    nodes:\n      \
    - {id: in, type: entry, next: out}\n      - {id: out, type: exit}\n";

fn bad() -> String {
    GOOD.replace("next: out", "next: nowhere")
}

#[test]
fn schemas_are_printed_as_they_are_stored() {
    let tramline = Tramline::new();
    let listed = tramline.run(&["schema", "--json"]).json();
    let listed = listed.get("schemas").unwrap().as_array().unwrap();
    let stored = fs::read_dir(root().join("schemas")).unwrap().count();
    assert_eq!(listed.len(), stored);
    for one in listed {
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap();
        let stored = fs::read_to_string(root().join("schemas").join(text("file"))).unwrap();
        for name in [text("format"), text("file")] {
            let printed = tramline.run(&["schema", name]);
            assert_eq!(
                (printed.code(), printed.out()),
                (0, stored.clone()),
                "{name}"
            );
        }
    }
    let plain = tramline.run(&["schema"]);
    assert_eq!(plain.out().lines().count(), listed.len());
}

#[test]
fn a_format_without_a_schema_says_what_checks_it() {
    let tramline = Tramline::new();
    let sop = tramline.run(&["schema", "sop"]);
    assert_eq!(sop.code(), 2);
    assert!(sop.err().contains("tramline check"), "{}", sop.err());
    let unknown = tramline.run(&["schema", "yml"]);
    assert_eq!(unknown.code(), 2);
    assert!(
        unknown.err().contains("did you mean `yaml`?"),
        "{}",
        unknown.err()
    );
}

/// A repository with workflows, and the environment of a runner around it.
struct Checkout {
    tramline: Tramline,
    home: PathBuf,
    path: String,
}

impl Checkout {
    fn new(files: &[(&str, &str)]) -> Self {
        let tramline = Tramline::new();
        let home = tramline.data.path().join("checkout");
        for (name, text) in files {
            let file = home.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let bin = Path::new(env!("CARGO_BIN_EXE_tramline")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let checkout = Self {
            tramline,
            home,
            path,
        };
        checkout.git(&["init", "--quiet"]);
        checkout.git(&["add", "--all"]);
        checkout
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.home)
            .env("PATH", &self.path)
            .env("HOME", self.tramline.data.path())
            .env("TRAMLINE_DATA_DIR", self.tramline.data_dir())
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command
    }

    fn git(&self, words: &[&str]) {
        let done = CommandResult(self.command("git").args(words).output().unwrap());
        assert_eq!(done.code(), 0, "{}", done.err());
    }

    /// Runs the steps of the action with these inputs, as a runner does.
    fn action(&self, inputs: &[(&str, &str)]) -> CommandResult {
        let text = fs::read(root().join("action.yml")).unwrap();
        let tree = document::read(&text).unwrap();
        let action = tree.root().value;
        let default = |(name, input): (_, &Value)| {
            let default = input.get("default").and_then(Value::as_str).unwrap();
            (format!("inputs.{name}"), default.to_owned())
        };
        let declared = action.get("inputs").and_then(Value::as_object).unwrap();
        let mut values: BTreeMap<String, String> = declared.iter().map(default).collect();
        for (name, value) in inputs {
            let old = values.insert(format!("inputs.{name}"), (*value).to_owned());
            assert!(old.is_some(), "{name} is not an input");
        }
        values.insert(
            "github.action_path".to_owned(),
            root().display().to_string(),
        );
        let runs = action.get("runs").unwrap();
        assert_eq!(runs.get("using").and_then(Value::as_str), Some("composite"));
        let mut last = None;
        for step in runs.get("steps").and_then(Value::as_array).unwrap() {
            let field = |key: &str| step.get(key).and_then(Value::as_str);
            if let Some(condition) = field("if") {
                let (name, empty) = condition.split_once(" != ").unwrap();
                assert_eq!(empty, "''");
                if values[name].is_empty() {
                    continue;
                }
            }
            assert!(
                !field("run").unwrap().contains("${{"),
                "inputs are not code"
            );
            let mut command = self.command("bash");
            command.args(["-e", "-o", "pipefail", "-c", field("run").unwrap()]);
            let runner = self.tramline.data.path().join("runner");
            fs::create_dir_all(&runner).unwrap();
            command.env("RUNNER_TEMP", &runner);
            command.env("GITHUB_PATH", runner.join("path"));
            for (name, value) in step
                .get("env")
                .and_then(Value::as_object)
                .map_or(&Map::new(), |env| env)
                .iter()
            {
                let value = value.as_str().unwrap();
                let inner = value
                    .strip_prefix("${{ ")
                    .and_then(|it| it.strip_suffix(" }}"));
                command.env(name.as_str(), &values[inner.unwrap()]);
            }
            let done = CommandResult(command.output().unwrap());
            let code = done.code();
            last = Some(done);
            if code != 0 {
                break;
            }
        }
        last.unwrap()
    }
}

#[test]
fn the_action_accepts_valid_documents_and_rejects_flawed_ones() {
    let good = Checkout::new(&[("workflows/a.yaml", GOOD), ("other.yaml", "x: 1")]);
    let done = good.action(&[]);
    assert_eq!(done.code(), 0, "{} {}", done.out(), done.err());
    assert!(done.out().contains("1 document valid"), "{}", done.out());
    let flawed = Checkout::new(&[("workflows/it's $(a) \"b\".yaml", &bad())]);
    let done = flawed.action(&[]);
    assert_eq!(done.code(), 2, "{} {}", done.out(), done.err());
    assert!(done.out().contains("nowhere"), "{}", done.out());
}

#[test]
fn the_action_fails_if_nothing_matches() {
    let checkout = Checkout::new(&[("other.yaml", GOOD)]);
    assert_eq!(checkout.action(&[]).code(), 2);
    assert_eq!(checkout.action(&[("files", "\n")]).code(), 2);
    assert_eq!(checkout.action(&[("files", "*.yaml")]).code(), 0);
    // Untracked files are not part of the commit.
    fs::write(checkout.home.join("new.yaml"), bad()).unwrap();
    assert_eq!(checkout.action(&[("files", "*.yaml")]).code(), 0);
}

#[test]
fn the_action_starts_no_server() {
    let server = "mcpServers: {evil: {command: touch, args: [started]}}\n";
    let call = GOOD.replace(
        "next: out}\n",
        "next: call}\n      - {id: call, type: mcp, server: evil, tool: x, args: {}, next: out}\n",
    );
    let checkout = Checkout::new(&[("workflows/a.yaml", &(server.to_owned() + &call))]);
    let done = checkout.action(&[]);
    assert_eq!(done.code(), 0, "{} {}", done.out(), done.err());
    assert!(!checkout.home.join("started").exists());
}

#[test]
fn a_flaw_becomes_an_annotation() {
    let matcher = fs::read_to_string(root().join("packaging/github-action/problem-matcher.json"));
    let matcher = Value::from_json(&matcher.unwrap()).unwrap();
    let matcher = &matcher.get("problemMatcher").unwrap().as_array().unwrap()[0];
    let patterns = matcher.get("pattern").unwrap().as_array().unwrap();
    let checkout = Checkout::new(&[("workflows/a.yaml", &bad())]);
    let out = checkout.action(&[]).out();
    let lines: Vec<&str> = out.lines().collect();
    // JSONata's regular expressions are those of JavaScript, like the runner's.
    let groups = |pattern: &Value, line: &str| -> Option<Vec<String>> {
        let regexp = pattern.get("regexp").and_then(Value::as_str).unwrap();
        let expression = format!("$match(line, /{}/).groups", regexp.replace('/', "\\/"));
        let input = serde_json::json!({ "line": line }).to_string();
        let done = checkout
            .tramline
            .run(&["eval", &expression, "--input", &input]);
        let found = Value::from_json(&done.out()).ok()?;
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        Some(found.as_array()?.iter().map(text).collect())
    };
    let at = lines
        .iter()
        .position(|line| line.starts_with("error["))
        .unwrap();
    let title = groups(&patterns[0], lines[at]).unwrap();
    let place = groups(&patterns[1], lines[at + 1]).unwrap();
    assert_eq!(title[..2], ["error", "T0008"]);
    assert_eq!(place[..2], ["workflows/a.yaml", "8"]);
}

#[test]
fn the_hook_runs_through_pre_commit() {
    let Some(pre_commit) = installed("ci-venv/bin/pre-commit") else {
        return;
    };
    // pre-commit clones the repository of a hook; this one has nothing but the hook.
    let hooks = fs::read_to_string(root().join(".pre-commit-hooks.yaml")).unwrap();
    let source = Checkout::new(&[(".pre-commit-hooks.yaml", &hooks)]);
    source.git(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.c",
        "commit",
        "--quiet",
        "-m",
        "x",
    ]);
    let run = |text: &str| {
        let checkout = Checkout::new(&[("workflows/a.yaml", text), ("other.yaml", "x: 1")]);
        let mut command = checkout.command(&pre_commit);
        command.args(["try-repo", source.home.to_str().unwrap(), "tramline-check"]);
        command.args(["--verbose", "--all-files"]);
        command.env(
            "PRE_COMMIT_HOME",
            checkout.tramline.data.path().join("cache"),
        );
        CommandResult(command.output().unwrap())
    };
    let good = run(GOOD);
    assert_eq!(good.code(), 0, "{} {}", good.out(), good.err());
    assert!(good.out().contains("1 document valid"), "{}", good.out());
    let flawed = run(&bad());
    assert_eq!(flawed.code(), 1, "{} {}", flawed.out(), flawed.err());
    assert!(flawed.out().contains("T0008"), "{}", flawed.out());
}

#[test]
fn the_action_and_the_hook_have_the_form_that_their_hosts_expect() {
    let (Some(schema), Some(pre_commit)) = (
        installed("ci-venv/bin/check-jsonschema"),
        installed("ci-venv/bin/pre-commit"),
    ) else {
        return;
    };
    for (program, words) in [
        (
            schema,
            vec!["--builtin-schema", "vendor.github-actions", "action.yml"],
        ),
        (
            pre_commit,
            vec!["validate-manifest", ".pre-commit-hooks.yaml"],
        ),
    ] {
        let mut command = Command::new(program);
        let done = CommandResult(command.args(&words).current_dir(root()).output().unwrap());
        assert_eq!(done.code(), 0, "{words:?} {} {}", done.out(), done.err());
    }
}
