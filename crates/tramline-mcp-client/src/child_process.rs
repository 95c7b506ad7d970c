//! Servers that run as child processes: started with a minimal environment, and always stopped with us.

use super::ClientOptions;
use super::bounded_reader::BoundedReader;
use super::stderr::{Stderr, StderrTail};
use crate::config::{UnsetVariable, expand, unset_message};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{ChildStdin, ChildStdout};
use tramline_expr::Value;
use tramline_process::{ProcessTree, TreeCommand};
use tramline_workflow::failure::{Failure, FailureKind};

/// Environment variables that every child inherits: the same as in the reference clients, and no secrets.
const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// How long servers have to exit after this process died and their stdin closed, before they get a signal.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// The configured command of a child.
pub(super) struct ChildCommand<'a> {
    pub(super) server: &'a str,
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a str>,
}

/// A running child and its descendants. Dropping it kills all of them.
pub(super) struct ChildProcess {
    tree: ProcessTree,
    stderr: Stderr,
}

/// The child's stdout and stdin.
pub(super) type ChildStreams = (BoundedReader<ChildStdout>, ChildStdin);

impl ChildCommand<'_> {
    /// Starts the child.
    pub(super) fn start(
        &self,
        options: &ClientOptions,
    ) -> Result<(ChildProcess, ChildStreams), Failure> {
        let mut tree = self.tree_command(options)?.spawn().map_err(|fault| {
            self.start_failure(format!("cannot run `{}`: {fault}", self.command))
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) = tree.streams() else {
            return Err(self.start_failure("cannot open its standard streams".to_owned()));
        };
        let process = ChildProcess {
            tree,
            stderr: Stderr::read(stderr, self.server, options.redact.clone()),
        };
        let lines = BoundedReader::new(stdout, options.answer_bytes_max);
        Ok((process, (lines, stdin)))
    }

    fn tree_command(&self, options: &ClientOptions) -> Result<TreeCommand, Failure> {
        let env = self.environment(options)?;
        let cwd = self.cwd.map(|cwd| self.expand(cwd, "cwd", options));
        let cwd = cwd.transpose()?.map(PathBuf::from);
        if let Some(missing) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            let says = format!("its cwd `{}` is not a directory", missing.display());
            return Err(self.start_failure(says));
        }
        let path = env.get("PATH").map(OsString::from);
        let program = self.resolve_command(path, cwd.as_ref(), options)?;
        let mut tree = TreeCommand::new(program.as_os_str(), ORPHAN_GRACE);
        let command = tree.command();
        for arg in self.args {
            command.arg(self.expand(arg, "args", options)?);
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

    fn environment(&self, options: &ClientOptions) -> Result<BTreeMap<String, String>, Failure> {
        let mut env = BTreeMap::new();
        for name in INHERITED {
            if let Some(value) = (options.lookup)(name) {
                env.insert(name.to_owned(), value);
            }
        }
        for (name, value) in self.env {
            let value = self.expand(value, &format!("env.{name}"), options)?;
            env.insert(name.clone(), value);
        }
        Ok(env)
    }

    fn resolve_command(
        &self,
        path: Option<OsString>,
        cwd: Option<&PathBuf>,
        options: &ClientOptions,
    ) -> Result<PathBuf, Failure> {
        let command = self.expand(self.command, "command", options)?;
        let here = || cwd.cloned().or_else(|| std::env::current_dir().ok());
        which::which_in(&command, path.clone(), here().unwrap_or_default()).map_err(|_| {
            let path = path.unwrap_or_default();
            self.start_failure(format!(
                "command `{command}` not found; install it, use its full path, or set \
                 PATH in the server's env (PATH is {})",
                path.to_string_lossy()
            ))
        })
    }

    fn expand(&self, text: &str, place: &str, options: &ClientOptions) -> Result<String, Failure> {
        expand(text, &*options.lookup).map_err(|UnsetVariable(name)| {
            self.start_failure(format!(
                "`{place}` uses ${{{name}}}, and {}",
                unset_message(&name)
            ))
        })
    }

    fn start_failure(&self, why: String) -> Failure {
        let message = format!("cannot start server `{}`: {why}", self.server);
        Failure::new(FailureKind::Unavailable, message)
    }
}

impl ChildProcess {
    /// Process id of the child, while it runs.
    pub(super) fn id(&self) -> Option<u32> {
        self.tree.id()
    }

    /// Waits until the child exits; its descendants are stopped with it.
    pub(super) async fn wait(&mut self) -> Option<ExitStatus> {
        self.tree.wait().await.ok()
    }

    /// Stops the child and its descendants. Its stdin is already closed, so it gets a grace period first.
    pub(super) async fn stop(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.tree.stop(grace).await.ok()
    }

    /// Its stderr, for inspection while it runs.
    pub(super) fn tail(&self) -> StderrTail {
        self.stderr.tail()
    }

    /// The last lines of its stderr.
    pub(super) async fn last_lines(&mut self) -> Vec<Value> {
        self.stderr.last_lines().await
    }
}

/// Describes how a process ended.
pub(super) fn describe_exit(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "ended".to_owned();
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
