//! The programs to measure, and the time limit of a turn.

use crate::talk::StdioClient;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Seconds that one turn of a peer may take; a longer one is reported as such.
pub(crate) const TURN_S_MAX: u64 = 90;

/// The programs and directories.
pub(crate) struct BenchEnv {
    /// The directory of the installed peers.
    pub(crate) peers: PathBuf,
    /// The working directory.
    pub(crate) dir: tempfile::TempDir,
    /// The minimal MCP server: this program.
    pub(crate) echo: PathBuf,
    /// Whether the small version is run.
    pub(crate) quick: bool,
    /// Whether n8n is measured.
    pub(crate) n8n: bool,
}

impl BenchEnv {
    pub(crate) fn new(peers: PathBuf, quick: bool, n8n: bool) -> Result<Self> {
        // Beside the peers, so that the real disk is measured and not a file system in memory.
        let dir = tempfile::tempdir_in(&peers)?;
        let echo = std::env::current_exe()?;
        Ok(Self {
            peers,
            dir,
            echo,
            quick,
            n8n,
        })
    }

    /// A number for the small version, or for the full one.
    pub(crate) fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// One of our own programs.
    pub(crate) fn ours(&self, name: &str) -> Result<PathBuf> {
        let path = self.echo.with_file_name(name);
        ensure!(path.is_file(), "`{name}` is not built");
        Ok(path)
    }

    /// A new directory.
    pub(crate) fn fresh(&self) -> Result<tempfile::TempDir> {
        Ok(tempfile::tempdir_in(self.dir.path())?)
    }

    /// `python` of a virtual environment with one of our scripts.
    pub(crate) fn python(&self, venv: &str, script: &str) -> Result<Command> {
        let python = self.peers.join("venvs").join(venv).join("bin/python");
        ensure!(python.is_file(), "could not be installed");
        let mut command = Command::new(python);
        command.arg(scripts().join(script));
        Ok(command)
    }

    /// One of our scripts that needs no packages.
    pub(crate) fn script(&self, script: &str) -> Command {
        let mut command = Command::new("python3");
        command.arg(scripts().join(script));
        command
    }

    /// A program of an npm package.
    pub(crate) fn node(&self, main: &str) -> Result<Command> {
        let main = self.peers.join("node_modules").join(main);
        ensure!(main.is_file(), "could not be installed");
        let mut command = Command::new("node");
        command.arg(main);
        Ok(command)
    }

    /// A program that `cargo install` built.
    pub(crate) fn cargo(&self, name: &str) -> Result<PathBuf> {
        let path = self.peers.join("cargo/bin").join(name);
        ensure!(path.is_file(), "could not be installed");
        Ok(path)
    }
}

/// The scripts that use peers as their documentation says.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// The same command, killed when it takes too long.
fn with_timeout(command: &Command) -> Command {
    let mut within = Command::new("timeout");
    within
        .arg("--signal=KILL")
        .arg(TURN_S_MAX.to_string())
        .arg(command.get_program())
        .args(command.get_args());
    within
}

/// Starts a server over stdio with a timeout, and initializes the connection.
pub(crate) fn start_client(command: &mut Command) -> Result<(StdioClient, KillTimer)> {
    let mut talk = StdioClient::spawn(command)?;
    let watch = KillTimer::over(talk.process());
    talk.initialize()?;
    Ok((talk, watch))
}

/// Kills a process that takes too long, unless it is dropped before.
pub(crate) struct KillTimer(#[allow(dead_code, reason = "dropping it ends the watch")] Sender<()>);

impl KillTimer {
    pub(crate) fn over(process: u32) -> Self {
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let waited = ended.recv_timeout(Duration::from_secs(TURN_S_MAX));
            if waited == Err(RecvTimeoutError::Timeout) {
                // It may be gone by now.
                let _ = Command::new("kill")
                    .args(["-KILL", &process.to_string()])
                    .status();
            }
        });
        Self(sender)
    }
}

/// Runs a program to completion and parses the figures in its last line of output.
pub(crate) fn figures(command: &Command) -> Result<Value> {
    let done = with_timeout(command).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.code().is_none_or(|code| code == 137) {
        bail!("not done within {TURN_S_MAX} s");
    }
    ensure!(done.status.success(), "{}", said.trim());
    let text = String::from_utf8_lossy(&done.stdout);
    let last = text.trim().lines().last().unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("no figures in {text}{said}"))
}

/// One figure of several.
pub(crate) fn figure(figures: &Value, name: &str) -> Result<f64> {
    let found = figures[name].as_f64();
    found.with_context(|| format!("no {name} in {figures}"))
}
