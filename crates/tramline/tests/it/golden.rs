//! Data directories that earlier versions wrote: every later version opens, lists, shows, exports,
//! resumes and answers the runs in them.
//!
//! `tests/golden/README.md` describes how they are made and when a new one is due.

use crate::test_servers::StdioClient;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

mod continued;
mod kinds;
mod listed;

/// The contents of a golden directory.
#[derive(Deserialize)]
struct Manifest {
    /// How many runs are listed.
    runs: usize,
    cases: Vec<GoldenCase>,
}

/// A run with its description and its expected outcome.
#[derive(Deserialize)]
struct GoldenCase {
    name: String,
    run: String,
    /// Its listed status.
    status: String,
    /// Its questions.
    #[serde(default)]
    pauses: Vec<String>,
    /// A run that it waits for: `{run_below}`, and its question `{below}`.
    below: Option<String>,
    /// The commands to apply, in order.
    then: Vec<GoldenStep>,
    /// Its status after that.
    finally: Option<String>,
    /// The nodes whose calls arrive meanwhile, each once.
    #[serde(default)]
    calls: Vec<String>,
    /// Files that its tools need.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// A command with its exit code, or a tool with the expected part of its reply.
#[derive(Deserialize)]
#[serde(untagged)]
enum GoldenStep {
    Command {
        command: Vec<String>,
        exit: i32,
        /// Whether an earlier command may have finished the run already: the process that ends a
        /// child continues its parent while it lives.
        #[serde(default)]
        or_ended: bool,
    },
    Tool {
        tool: String,
        arguments: Value,
        says: Value,
    },
}

impl GoldenCase {
    fn is_guided(&self) -> bool {
        self.name.starts_with("sop-") && self.name != "sop-question"
    }
}

/// A copy of a golden directory, with its documents around it.
struct GoldenCopy {
    dir: TempDir,
    path: String,
}

/// Every golden directory, the oldest first.
fn versions() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let found = fs::read_dir(golden).unwrap().map(|it| it.unwrap().path());
    let mut found: Vec<PathBuf> = found.filter(|path| path.is_dir()).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

fn manifest(version: &Path) -> Manifest {
    let text = fs::read_to_string(version.join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

impl GoldenCopy {
    fn of(version: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        for (from, to) in [("documents", "."), ("data", "data")] {
            for file in fs::read_dir(version.join(from)).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), dir.path().join(to).join(file.file_name())).unwrap();
            }
        }
        make_private(&dir.path().join("data/settings.key"));
        let unruly = tramline_test_server::program::test_server().unwrap();
        let beside = unruly.parent().unwrap().display().to_string();
        let path = format!("{beside}:{}", std::env::var("PATH").unwrap_or_default());
        Self { dir, path }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
        command
            .args(arguments)
            .args(["--data-dir", "data"])
            .current_dir(self.dir.path())
            .env("PATH", &self.path)
            .env("GOLDEN_LOG", self.file("calls.log"))
            .env_remove("TRAMLINE_TOKEN")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command; returns its exit code and its JSON output.
    fn say(&self, words: &[&str]) -> (i32, Value) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let done = self.command(&words).arg("--json").output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        let json = text.trim().lines().last().unwrap_or_default();
        let json = serde_json::from_str(json).unwrap_or(Value::Null);
        (done.status.code().unwrap_or(-1), json)
    }

    /// The rows of all runs.
    fn listed(&self) -> Vec<Value> {
        let (exit, told) = self.say(&["runs", "--most", "1000"]);
        assert_eq!(exit, 0, "{told}");
        told["runs"].as_array().unwrap().clone()
    }

    fn status(&self, run: &str) -> String {
        let rows = self.listed();
        let row = rows.iter().find(|row| row["run_id"] == run).unwrap();
        row["status"].as_str().unwrap().to_owned()
    }

    /// The questions of a run: their checkpoints and kinds.
    fn pauses(&self, run: &str) -> Vec<(String, String)> {
        let (exit, told) = self.say(&["runs", "show", run]);
        assert_eq!(exit, 0, "{told}");
        let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
        let pauses = told["pauses"].as_array().cloned().unwrap_or_default();
        let open = pauses.iter().filter(|it| it["answer"].is_null());
        open.map(|it| (text(it, "checkpoint"), text(it, "kind")))
            .collect()
    }

    /// A server on it, with what SOP sessions and workflows need.
    fn serve(&self) -> StdioClient {
        let words =
            "serve --toolsets sop,control --mcp-config mcp.json --config long.yaml --root .";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let child = self
            .command(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        StdioClient::start(child)
    }

    /// The nodes whose calls arrived, in order.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file("calls.log")).unwrap_or_default();
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["arguments"]["node"].as_str().unwrap_or("?").to_owned()
        });
        lines.collect()
    }
}

/// A key file that others can read is rejected, and a checked-out file may be readable by others.
fn make_private(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// Whether a value contains everything that another one has.
fn holds(value: &Value, part: &Value) -> bool {
    match part {
        Value::Object(fields) => fields
            .iter()
            .all(|(key, part)| holds(&value[key.as_str()], part) && !value[key.as_str()].is_null()),
        part => value == part,
    }
}
