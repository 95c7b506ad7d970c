//! The binary as a user starts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tramline::expr::Value;

/// The root of the repository, where the examples are.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A temporary folder with a data directory, and the binary on it.
pub(crate) struct Tramline {
    pub(crate) data: tempfile::TempDir,
}

impl Tramline {
    pub(crate) fn new() -> Self {
        Self {
            data: tempfile::tempdir().unwrap(),
        }
    }

    /// The data directory: next to anything else a test puts into the folder.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.data.path().join("runs")
    }

    /// The command, not started yet.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
        command
            .args(words)
            .current_dir(root())
            .env("TRAMLINE_DATA_DIR", self.data_dir())
            .env_remove("TRAMLINE_TOKEN")
            .stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, words: &[&str]) -> CommandResult {
        CommandResult(self.command(words).output().unwrap())
    }
}

/// A command that has ended.
pub(crate) struct CommandResult(pub(crate) Output);

impl CommandResult {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        Value::from_json(&self.out())
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.out(), self.err()))
    }

    /// The text under a key of the printed JSON.
    pub(crate) fn text(&self, key: &str) -> String {
        let json = self.json();
        json.get(key)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{json}"))
            .to_owned()
    }
}
