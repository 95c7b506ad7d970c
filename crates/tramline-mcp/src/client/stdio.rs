//! Servers that are child processes: started in a group of their own, and never left behind.

use super::Options;
use super::lines::BoundedLines;
use super::stderr::{Stderr, Tail};
use crate::config::{Unset, expand, unset};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};

/// What every child gets from our environment: what the reference clients give, and no secrets.
const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// Between the polite signal and the other one.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// What a configuration says about a child.
pub(super) struct Program<'a> {
    pub(super) server: &'a str,
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a str>,
}

/// A running child and the group it leads. Dropping it kills the whole group.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    stderr: Stderr,
}

/// The child's ends of the conversation.
pub(super) type Streams = (BoundedLines<ChildStdout>, ChildStdin);

impl Program<'_> {
    /// Starts the child.
    pub(super) fn start(&self, options: &Options) -> Result<(Process, Streams), Failure> {
        let mut child = self
            .prepare(options)?
            .spawn()
            .map_err(|fault| self.cannot(format!("could not start `{}`: {fault}", self.command)))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(self.cannot("its streams could not be opened".to_owned()));
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let process = Process {
            group: group.map(Pid::from_raw),
            child,
            stderr: Stderr::read(stderr, self.server, Arc::clone(&options.redact)),
        };
        let lines = BoundedLines::new(stdout, options.answer_bytes_max);
        Ok((process, (lines, stdin)))
    }

    fn prepare(&self, options: &Options) -> Result<Command, Failure> {
        let env = self.environment(options)?;
        let cwd = self.cwd.map(|cwd| self.fill(cwd, "cwd", options));
        let cwd = cwd.transpose()?.map(PathBuf::from);
        if let Some(missing) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            let says = format!("its cwd `{}` is no directory", missing.display());
            return Err(self.cannot(says));
        }
        let path = env.get("PATH").map(OsString::from);
        let mut command = Command::new(self.find(path, cwd.as_ref(), options)?);
        for arg in self.args {
            command.arg(self.fill(arg, "args", options)?);
        }
        if let Some(cwd) = cwd {
            command.current_dir(cwd);
        }
        command
            .env_clear()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Wrappers such as npx start the server as their child: signals go to the group.
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }

    fn environment(&self, options: &Options) -> Result<BTreeMap<String, String>, Failure> {
        let mut env = BTreeMap::new();
        for name in INHERITED {
            if let Some(value) = (options.lookup)(name) {
                env.insert(name.to_owned(), value);
            }
        }
        for (name, value) in self.env {
            let value = self.fill(value, &format!("env.{name}"), options)?;
            env.insert(name.clone(), value);
        }
        Ok(env)
    }

    fn find(
        &self,
        path: Option<OsString>,
        cwd: Option<&PathBuf>,
        options: &Options,
    ) -> Result<PathBuf, Failure> {
        let command = self.fill(self.command, "command", options)?;
        let here = || cwd.cloned().or_else(|| std::env::current_dir().ok());
        which::which_in(&command, path.clone(), here().unwrap_or_default()).map_err(|_| {
            let path = path.unwrap_or_default();
            self.cannot(format!(
                "the command `{command}` was not found; install it, give its full path, or set \
                 PATH in the server's env (PATH is {})",
                path.to_string_lossy()
            ))
        })
    }

    fn fill(&self, text: &str, place: &str, options: &Options) -> Result<String, Failure> {
        expand(text, &*options.lookup).map_err(|Unset(name)| {
            self.cannot(format!("`{place}` uses ${{{name}}}, and {}", unset(&name)))
        })
    }

    fn cannot(&self, why: String) -> Failure {
        let message = format!("server `{}` cannot be started: {why}", self.server);
        Failure::new(FailureKind::Unavailable, message)
    }
}

impl Process {
    /// The child's id, while it lives.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the child's end; what it left behind in its group ends with it.
    pub(super) async fn wait(&mut self) -> Option<ExitStatus> {
        let status = self.child.wait().await.ok();
        self.signal(Signal::SIGKILL);
        self.group = None;
        status
    }

    /// Ends the child: its stdin is closed by now, so it is given a moment, then a polite
    /// signal, then the other one.
    pub(super) async fn stop(&mut self, grace: Duration) -> Option<ExitStatus> {
        for (patience, signal) in [(grace, Signal::SIGTERM), (TERM_GRACE, Signal::SIGKILL)] {
            if let Ok(status) = tokio::time::timeout(patience, self.wait()).await {
                return status;
            }
            self.signal(signal);
        }
        self.wait().await
    }

    /// What it writes to stderr, to be looked at while it lives.
    pub(super) fn tail(&self) -> Tail {
        self.stderr.tail()
    }

    /// The last lines on stderr.
    pub(super) async fn last_words(&mut self) -> Vec<Value> {
        self.stderr.last_words().await
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An error means that the group is gone already, which is what was wanted.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// How a process ended, in words.
pub(super) fn ending(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "ended".to_owned();
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
