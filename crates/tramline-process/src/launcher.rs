//! The launcher: this program, started again with a word that makes it a parent for one child.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first argument of a launcher. No command of ours begins like this.
const WORD: &str = "__child";

/// Whether this program can be its own launcher: it looks for the word before it does anything else.
static LAUNCHES: AtomicBool = AtomicBool::new(false);

/// How children are started so that nothing of them outlives this process.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    program: PathBuf,
}

impl Launcher {
    /// This program as its own launcher; nothing if it does not call [`launch_if_asked`], nor on
    /// systems that have no way to adopt orphans.
    pub(crate) fn this_program() -> Option<Self> {
        if !cfg!(target_os = "linux") || !LAUNCHES.load(Ordering::Relaxed) {
            return None;
        }
        // The link stays right when the file is replaced by a newer version.
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

    /// The arguments that come before those of the child.
    pub(crate) fn arguments(program: &OsStr, orphan_grace: Duration) -> [OsString; 4] {
        [
            WORD.into(),
            std::process::id().to_string().into(),
            orphan_grace.as_millis().to_string().into(),
            program.into(),
        ]
    }
}

/// Acts as a launcher if this process was started as one. Call it first thing in `main`, before any
/// thread is there, and end with the code it gives. From then on this program starts its children
/// through launchers.
pub fn launch_if_asked() -> Option<ExitCode> {
    LAUNCHES.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != WORD {
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
