//! The launcher: this program, started again with a special argument as the parent of one child.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first argument of a launcher. No command starts like this.
const LAUNCHER_ARGUMENT: &str = "__child";

/// Whether this program can be its own launcher: it checks for the argument before anything else.
static CAN_LAUNCH: AtomicBool = AtomicBool::new(false);

/// Starts children so that nothing of them outlives this process.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    program: PathBuf,
}

impl Launcher {
    /// This program as its own launcher; `None` if it does not call [`launch_if_asked`], and on
    /// systems that cannot adopt orphans.
    pub(crate) fn this_program() -> Option<Self> {
        if !cfg!(target_os = "linux") || !CAN_LAUNCH.load(Ordering::Relaxed) {
            return None;
        }
        // The link stays valid when the file is replaced by a newer version.
        let link = PathBuf::from("/proc/self/exe");
        let program = match link.exists() {
            true => link,
            false => std::env::current_exe().ok()?,
        };
        Some(Self { program })
    }

    pub(crate) fn program(&self) -> &OsStr {
        self.program.as_os_str()
    }

    /// The arguments before those of the child.
    pub(crate) fn arguments(program: &OsStr, orphan_grace: Duration) -> [OsString; 4] {
        [
            LAUNCHER_ARGUMENT.into(),
            std::process::id().to_string().into(),
            orphan_grace.as_millis().to_string().into(),
            program.into(),
        ]
    }
}

/// Acts as a launcher if this process was started as one. Call it first in `main`, before any
/// thread exists, and exit with the code it returns. From then on this program starts its children
/// through launchers.
pub fn launch_if_requested() -> Option<ExitCode> {
    CAN_LAUNCH.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != LAUNCHER_ARGUMENT {
        return None;
    }
    Some(launch(arguments))
}

#[cfg(target_os = "linux")]
fn launch(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let number = |text: Option<OsString>| text?.to_str()?.parse::<u32>().ok();
    let parent = number(arguments.next());
    let grace = number(arguments.next());
    match (parent, grace, arguments.next()) {
        (Some(parent), Some(grace), Some(program)) => {
            let mut command = std::process::Command::new(program);
            command.args(arguments);
            let grace = Duration::from_millis(grace.into());
            crate::supervisor::supervise(parent, grace, command)
        }
        (_, _, _) => ExitCode::from(2),
    }
}

#[cfg(not(target_os = "linux"))]
fn launch(_arguments: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::from(2)
}
