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

/// Between the polite signal and the other one.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// A launcher that was asked to kill everything has done so after this long, or is stuck itself.
const KILL_MAX: Duration = Duration::from_secs(2);

/// The trees that live, by the process at their top.
static LIVE: Mutex<BTreeMap<i32, Top>> = Mutex::new(BTreeMap::new());

fn live() -> MutexGuard<'static, BTreeMap<i32, Top>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the process at the top of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Top {
    /// The child itself.
    Child,
    /// A launcher, which knows all that is below it.
    Launcher,
}

impl Top {
    /// Asks the processes of a tree to end.
    fn ask(self, group: Pid) {
        // An error means that they are gone already, which is what was wanted.
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

/// A command whose child will be the top of a tree.
#[derive(Debug)]
pub struct TreeCommand {
    command: Command,
    top: Top,
}

impl TreeCommand {
    /// A command that starts `program`, given by its path. When this process dies, what is left of the
    /// child gets `orphan_grace` to end by itself, if there is a launcher to see to it.
    pub fn new(program: &OsStr, orphan_grace: Duration) -> Self {
        let (mut command, top) = match Launcher::this_program() {
            None => (Command::new(program), Top::Child),
            Some(launcher) => {
                let mut command = Command::new(launcher.program());
                command.arg0("tramline");
                command.args(Launcher::arguments(program, orphan_grace));
                (command, Top::Launcher)
            }
        };
        // Wrappers such as npx start the server as their child: signals go to the group. A launcher is
        // not killed when it is dropped: it is asked to kill.
        command
            .process_group(0)
            .kill_on_drop(top == Top::Child)
            .env_clear();
        Self { command, top }
    }

    /// The command, for its arguments, environment, directory and streams. The environment is empty.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Starts it.
    pub fn spawn(mut self) -> io::Result<ProcessTree> {
        let child = self.command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group {
            live().insert(group, self.top);
        }
        Ok(ProcessTree {
            group: group.map(Pid::from_raw),
            child,
            top: self.top,
        })
    }
}

/// A running child and all that it started. Dropping it kills all of them.
#[derive(Debug)]
pub struct ProcessTree {
    child: Child,
    /// Nothing once it has ended: the number may then be another's.
    group: Option<Pid>,
    top: Top,
}

impl ProcessTree {
    /// The id of the process at the top, while it lives.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The child's standard input, output and error, where they are pipes and were not taken yet.
    pub fn streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Waits for the child's end; what it left behind ends with it.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        if let Some(group) = self.group.take() {
            // A launcher that was killed itself has killed nothing.
            let _ = killpg(group, Signal::SIGKILL);
            live().remove(&group.as_raw());
        }
        status
    }

    /// Ends all of it: the child, whose input is closed by now, is given a moment, then a polite
    /// signal, then the other one.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Ok(status) = tokio::time::timeout(grace, self.wait()).await {
            return status;
        }
        if let Some(group) = self.group {
            self.top.ask(group);
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

    /// Kills all of it.
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
            live().remove(&group.as_raw());
        }
    }
}

/// Kills every tree of this process, for an end that waits for nothing.
pub fn kill_all() {
    for (&group, top) in live().iter() {
        top.kill(Pid::from_raw(group));
    }
}
