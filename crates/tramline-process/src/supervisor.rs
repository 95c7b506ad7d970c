//! What a launcher does: it starts one child, adopts whatever that leaves behind, and ends all of it
//! when the child ends, when it is asked to, or when its own parent is gone.
//!
//! It is asked by signals: `SIGTERM` is passed on to every process below, `SIGUSR1` kills them all. It
//! holds none of the child's streams, so that their ends are seen as if it were not there.

use crate::descendants::signal_all;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getpgrp, getppid};
use rustix::process::{Pid as ProcessId, PidfdFlags, pidfd_open};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// What shells answer for a program that cannot be started.
const CANNOT_START: u8 = 126;

/// Between the polite signal and the other one, for those whose user is gone.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// How often all are killed again while some are left: they may have started more meanwhile.
const KILL_AGAIN: Duration = Duration::from_millis(10);

/// A process that is stuck in the system cannot be killed; after so long it is left to it.
const KILL_MAX: Duration = Duration::from_secs(2);

/// How often the parent is looked for where the system cannot say that it ended.
const LOOK_FOR_PARENT: Duration = Duration::from_millis(250);

/// Starts the command and stays until it and all below it have ended.
pub(crate) fn supervise(parent: u32, grace: Duration, mut command: Command) -> ExitCode {
    // Without it, only what stays in the group is ended.
    let _ = prctl::set_child_subreaper(true);
    let Ok(mut supervisor) = Supervisor::new(parent, grace) else {
        return ExitCode::from(CANNOT_START);
    };
    if supervisor.parent_is_gone() {
        return ExitCode::from(CANNOT_START);
    }
    match command.spawn() {
        Ok(child) => supervisor.child = child.id().try_into().ok().map(Pid::from_raw),
        Err(error) => {
            let program = command.get_program().display();
            let _ = writeln!(io::stderr(), "tramline: cannot start {program}: {error}");
            return ExitCode::from(CANNOT_START);
        }
    }
    let_go_of_streams();
    supervisor.stay();
    supervisor.end()
}

/// The child has its own copies; were ours open, nobody would see that it closed them.
fn let_go_of_streams() {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/null");
    if let Ok(nothing) = opened {
        let _ = dup2_stdin(&nothing);
        let _ = dup2_stdout(&nothing);
        let _ = dup2_stderr(&nothing);
    }
}

/// What is to be done with the processes below.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// They run.
    Running,
    /// The parent is gone: they get the polite signal at this moment, unless they end before.
    Orphaned(Instant),
    /// They got it, and are killed at this moment.
    Asked(Instant),
    /// They are killed until none is left, or until this moment.
    Killing(Instant),
}

struct Supervisor {
    signals: SignalFd,
    parent: Pid,
    /// Readable once the parent has ended; nothing where the system has no such handles.
    parent_ended: Option<OwnedFd>,
    grace: Duration,
    child: Option<Pid>,
    /// How the child ended.
    status: Option<WaitStatus>,
    stage: Stage,
}

impl Supervisor {
    fn new(parent: u32, grace: Duration) -> nix::Result<Self> {
        let mut heard = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGUSR1] {
            heard.add(signal);
        }
        // The child signals its whole group when it likes; only what is heard above is for us. It
        // starts with no signal blocked.
        SigSet::all().thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let raw = i32::try_from(parent).map_err(|_| Errno::ESRCH)?;
        let handle = ProcessId::from_raw(raw);
        Ok(Self {
            signals: SignalFd::with_flags(&heard, flags)?,
            parent: Pid::from_raw(raw),
            parent_ended: handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()),
            grace,
            child: None,
            status: None,
            stage: Stage::Running,
        })
    }

    /// An orphan is given to another parent.
    fn parent_is_gone(&self) -> bool {
        getppid() != self.parent
    }

    /// Stays until nothing is left below.
    fn stay(&mut self) {
        loop {
            self.hear();
            if !self.reap() {
                return;
            }
            if self.status.is_some() && !matches!(self.stage, Stage::Killing(_)) {
                self.stage = Stage::Killing(Instant::now() + KILL_MAX);
            }
            if self.stage == Stage::Running && self.parent_is_gone() {
                self.stage = Stage::Orphaned(Instant::now() + self.grace);
            }
            if !self.act() {
                return;
            }
            self.sleep();
        }
    }

    fn hear(&mut self) {
        while let Ok(Some(heard)) = self.signals.read_signal() {
            let number = i32::try_from(heard.ssi_signo).unwrap_or_default();
            match Signal::try_from(number) {
                Ok(Signal::SIGTERM) => signal_all(Signal::SIGTERM),
                Ok(Signal::SIGUSR1) => self.stage = Stage::Killing(Instant::now() + KILL_MAX),
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Takes note of all that ended; false once nothing is left.
    fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(ended) if ended.pid() == self.child => self.status = Some(ended),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Does what is due; false once nothing more can be done.
    fn act(&mut self) -> bool {
        let now = Instant::now();
        match self.stage {
            Stage::Orphaned(at) if now >= at => {
                signal_all(Signal::SIGTERM);
                self.stage = Stage::Asked(now + TERM_GRACE);
            }
            Stage::Asked(at) if now >= at => {
                self.stage = Stage::Killing(now + KILL_MAX);
                signal_all(Signal::SIGKILL);
            }
            Stage::Killing(until) if now >= until => return false,
            Stage::Killing(_) => signal_all(Signal::SIGKILL),
            Stage::Running | Stage::Orphaned(_) | Stage::Asked(_) => {}
        }
        true
    }

    /// Waits for a signal, the end of the parent, or the next moment at which something is due.
    fn sleep(&self) {
        let due = |at: Instant| at.saturating_duration_since(Instant::now());
        let patience = match (self.stage, &self.parent_ended) {
            (Stage::Orphaned(at) | Stage::Asked(at), _) => Some(due(at)),
            (Stage::Killing(_), _) => Some(KILL_AGAIN),
            (Stage::Running, None) => Some(LOOK_FOR_PARENT),
            (Stage::Running, Some(_)) => None,
        };
        let patience = patience.map_or(PollTimeout::NONE, |time| {
            // A moment too early would make a busy loop of the last millisecond.
            PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let mut sources = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        // Once it is gone that stays so, and would wake us for ever.
        if let (Stage::Running, Some(parent)) = (self.stage, &self.parent_ended) {
            sources.push(PollFd::new(parent.as_fd(), PollFlags::POLLIN));
        }
        // Whatever woke us is looked at anew.
        let _ = poll(&mut sources, patience);
    }

    /// Ends as the child ended.
    fn end(&self) -> ExitCode {
        match self.status {
            Some(WaitStatus::Exited(_, code)) => ExitCode::from(code as u8),
            Some(WaitStatus::Signaled(_, signal, _)) => {
                // What is to be looked at is the child's memory, not ours.
                let _ = prctl::set_dumpable(false);
                let _ = SigSet::all().thread_unblock();
                let _ = raise(signal);
                ExitCode::from(128_u8.saturating_add(signal as u8))
            }
            Some(_) | None => {
                // It is stuck, or could not be listed: the group is all that can be reached.
                let _ = killpg(getpgrp(), Signal::SIGKILL);
                ExitCode::FAILURE
            }
        }
    }
}
