//! A child process with everything it started.

use crate::launcher::Launcher;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// The time between `SIGTERM` and `SIGKILL`.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// How long a launcher may take to kill everything; after that it is stuck itself.
const KILL_MAX: Duration = Duration::from_secs(2);

/// The live trees, by their top process.
static LIVE_TREES: Mutex<BTreeMap<i32, TopProcess>> = Mutex::new(BTreeMap::new());

fn live_trees() -> MutexGuard<'static, BTreeMap<i32, TopProcess>> {
    LIVE_TREES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kind of the top process of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TopProcess {
    /// The child itself.
    Child,
    /// A launcher, which knows all its descendants.
    Launcher,
}

impl TopProcess {
    /// Sends `SIGTERM` to the processes of a tree.
    fn terminate(self, group: Pid) {
        // An error means that they are gone already.
        let _ = match self {
            Self::Child => killpg(group, Signal::SIGTERM),
            Self::Launcher => kill(group, Signal::SIGTERM),
        };
    }

    /// Kills the processes of a tree.
    fn kill(self, group: Pid) {
        let _ = match self {
            Self::Child => killpg(group, Signal::SIGKILL),
            Self::Launcher => kill(group, Signal::SIGUSR1),
        };
    }
}

/// A command whose child becomes the top of a tree.
#[derive(Debug)]
pub struct TreeCommand {
    command: Command,
    top: TopProcess,
}

impl TreeCommand {
    /// A command that starts `program`, given by its path. When this process dies, the rest of the
    /// tree gets `orphan_grace` to end on its own, if there is a launcher.
    pub fn new(program: &OsStr, orphan_grace: Duration) -> Self {
        let (mut command, top) = match Launcher::this_program() {
            None => (Command::new(program), TopProcess::Child),
            Some(launcher) => {
                let mut command = Command::new(launcher.program());
                command.arg0("tramline");
                command.args(Launcher::arguments(program, orphan_grace));
                (command, TopProcess::Launcher)
            }
        };
        // Wrappers such as npx start the server as their child, so signals go to the group. A
        // launcher is not killed on drop: it is asked to kill its tree.
        command
            .process_group(0)
            .kill_on_drop(top == TopProcess::Child)
            .env_clear();
        Self { command, top }
    }

    /// The command, for its arguments, environment, directory and streams. The environment is
    /// empty.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Starts it.
    pub fn spawn(mut self) -> io::Result<ProcessTree> {
        let child = self.command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group {
            live_trees().insert(group, self.top);
        }
        Ok(ProcessTree {
            group: group.map(Pid::from_raw),
            child,
            top: self.top,
        })
    }
}

/// A running child and everything it started. Dropping it kills all of them.
#[derive(Debug)]
pub struct ProcessTree {
    child: Child,
    /// `None` once it has ended: the id may be reused.
    group: Option<Pid>,
    top: TopProcess,
}

impl ProcessTree {
    /// The id of the top process, while it lives.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The child's standard input, output and error, if they are pipes and were not taken yet.
    pub fn streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Waits for the child's end; everything it left behind ends with it.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        if let Some(group) = self.group.take() {
            // A launcher that was killed itself has killed nothing.
            let _ = killpg(group, Signal::SIGKILL);
            live_trees().remove(&group.as_raw());
        }
        status
    }

    /// Ends the whole tree: after its input is closed, the child gets `grace`, then `SIGTERM`, then
    /// `SIGKILL`.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Ok(status) = tokio::time::timeout(grace, self.wait()).await {
            return status;
        }
        if let Some(group) = self.group {
            self.top.terminate(group);
        }
        if let Ok(status) = tokio::time::timeout(TERM_GRACE, self.wait()).await {
            return status;
        }
        self.kill();
        if let Ok(status) = tokio::time::timeout(KILL_MAX, self.wait()).await {
            return status;
        }
        if let Some(group) = self.group {
            let _ = killpg(group, Signal::SIGKILL);
        }
        self.wait().await
    }

    /// Kills the whole tree.
    pub fn kill(&self) {
        if let Some(group) = self.group {
            self.top.kill(group);
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
        if let Some(group) = self.group {
            live_trees().remove(&group.as_raw());
        }
    }
}

/// Kills every tree of this process without waiting.
pub fn kill_all() {
    for (&group, top) in live_trees().iter() {
        top.kill(Pid::from_raw(group));
    }
}
