//! Servers that are child processes: found, given what they need, and never left behind.

use super::Options;
use super::lines::BoundedLines;
use super::stderr::{Stderr, Tail};
use crate::config::{Unset, expand, unset};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{ChildStdin, ChildStdout};
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};
use tramline_process::{ProcessTree, TreeCommand};

/// What every child gets from our environment: what the reference clients give, and no secrets.
const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// When this process dies, the end of their input tells servers; those that ignore it get a signal
/// after so long.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// What a configuration says about a child.
pub(super) struct Program<'a> {
    pub(super) server: &'a str,
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a str>,
}

/// A running child with all that it started. Dropping it kills all of them.
pub(super) struct Process {
    tree: ProcessTree,
    stderr: Stderr,
}

/// The child's ends of the conversation.
pub(super) type Streams = (BoundedLines<ChildStdout>, ChildStdin);

impl Program<'_> {
    /// Starts the child.
    pub(super) fn start(&self, options: &Options) -> Result<(Process, Streams), Failure> {
        let mut tree = self
            .prepare(options)?
            .spawn()
            .map_err(|fault| self.cannot(format!("could not start `{}`: {fault}", self.command)))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = tree.streams() else {
            return Err(self.cannot("its streams could not be opened".to_owned()));
        };
        let process = Process {
            tree,
            stderr: Stderr::read(stderr, self.server, Arc::clone(&options.redact)),
        };
        let lines = BoundedLines::new(stdout, options.answer_bytes_max);
        Ok((process, (lines, stdin)))
    }

    fn prepare(&self, options: &Options) -> Result<TreeCommand, Failure> {
        let env = self.environment(options)?;
        let cwd = self.cwd.map(|cwd| self.fill(cwd, "cwd", options));
        let cwd = cwd.transpose()?.map(PathBuf::from);
        if let Some(missing) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            let says = format!("its cwd `{}` is no directory", missing.display());
            return Err(self.cannot(says));
        }
        let path = env.get("PATH").map(OsString::from);
        let program = self.find(path, cwd.as_ref(), options)?;
        let mut tree = TreeCommand::new(program.as_os_str(), ORPHAN_GRACE);
        let command = tree.command();
        for arg in self.args {
            command.arg(self.fill(arg, "args", options)?);
        }
        if let Some(cwd) = cwd {
            command.current_dir(cwd);
        }
        command
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(tree)
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
    /// The id of the process at the top, while it lives.
    pub(super) fn id(&self) -> Option<u32> {
        self.tree.id()
    }

    /// Waits for the child's end; what it left behind ends with it.
    pub(super) async fn wait(&mut self) -> Option<ExitStatus> {
        self.tree.wait().await.ok()
    }

    /// Ends the child and all that it started: its stdin is closed by now, so it is given a moment.
    pub(super) async fn stop(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.tree.stop(grace).await.ok()
    }

    /// What it writes to stderr, to be looked at while it lives.
    pub(super) fn tail(&self) -> Tail {
        self.stderr.tail()
    }

    /// The last lines on stderr.
    pub(super) async fn last_words(&mut self) -> Vec<Value> {
        self.stderr.last_words().await
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
