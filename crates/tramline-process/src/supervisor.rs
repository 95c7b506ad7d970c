//! The launcher's work: it starts one child, adopts everything that leaves behind, and ends all of
//! it when the child ends, on request, or when its own parent is gone.
//!
//! Requests are signals: `SIGTERM` is passed on to every descendant, `SIGUSR1` kills all of them.
//! It holds none of the child's streams, so their ends are seen as if it were not there.

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

/// The exit code that shells use for a program that cannot be started.
const CANNOT_START_EXIT_CODE: u8 = 126;

/// The time between `SIGTERM` and `SIGKILL` for orphans.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// How often descendants are killed again while some are left: they may have started more.
const KILL_INTERVAL: Duration = Duration::from_millis(10);

/// The longest time to wait for killed processes: one that is stuck in the kernel cannot be killed.
const KILL_MAX: Duration = Duration::from_secs(2);

/// How often the parent is checked where the system has no pidfd.
const PARENT_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Starts the command and waits until it and all its descendants have ended.
pub(crate) fn supervise(parent: u32, grace: Duration, mut command: Command) -> ExitCode {
    // Without this, only processes that stay in the group are ended.
    let _ = prctl::set_child_subreaper(true);
    let Ok(mut supervisor) = Supervisor::new(parent, grace) else {
        return ExitCode::from(CANNOT_START_EXIT_CODE);
    };
    if supervisor.parent_is_gone() {
        return ExitCode::from(CANNOT_START_EXIT_CODE);
    }
    match command.spawn() {
        Ok(child) => supervisor.child = child.id().try_into().ok().map(Pid::from_raw),
        Err(error) => {
            let program = command.get_program().display();
            let _ = writeln!(io::stderr(), "tramline: cannot start {program}: {error}");
            return ExitCode::from(CANNOT_START_EXIT_CODE);
        }
    }
    close_streams();
    supervisor.run();
    supervisor.exit_code()
}

/// Closes our copies of the child's streams; otherwise readers would not see that the child closed
/// them.
fn close_streams() {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/null");
    if let Ok(nothing) = opened {
        let _ = dup2_stdin(&nothing);
        let _ = dup2_stdout(&nothing);
        let _ = dup2_stderr(&nothing);
    }
}

/// What to do with the descendants.
#[derive(Clone, Copy, PartialEq)]
enum SupervisorState {
    /// Let them run.
    Running,
    /// The parent is gone: send `SIGTERM` at this time, unless they end before.
    Orphaned(Instant),
    /// `SIGTERM` was sent; kill them at this time.
    Terminating(Instant),
    /// Kill them until none is left, or until this time.
    Killing(Instant),
}

struct Supervisor {
    signals: SignalFd,
    parent: Pid,
    /// Readable once the parent has ended; `None` without pidfd support.
    parent_ended: Option<OwnedFd>,
    grace: Duration,
    child: Option<Pid>,
    /// How the child ended.
    status: Option<WaitStatus>,
    stage: SupervisorState,
}

impl Supervisor {
    fn new(parent: u32, grace: Duration) -> nix::Result<Self> {
        let mut heard = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGUSR1] {
            heard.add(signal);
        }
        // The child may signal its whole group; only the signals above are for us. The child starts
        // with no signal blocked.
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
            stage: SupervisorState::Running,
        })
    }

    /// Orphans get another parent.
    fn parent_is_gone(&self) -> bool {
        getppid() != self.parent
    }

    /// Waits until no descendant is left.
    fn run(&mut self) {
        loop {
            self.read_signals();
            if !self.reap() {
                return;
            }
            if self.status.is_some() && !matches!(self.stage, SupervisorState::Killing(_)) {
                self.stage = SupervisorState::Killing(Instant::now() + KILL_MAX);
            }
            if self.stage == SupervisorState::Running && self.parent_is_gone() {
                self.stage = SupervisorState::Orphaned(Instant::now() + self.grace);
            }
            if !self.run_due() {
                return;
            }
            self.sleep();
        }
    }

    fn read_signals(&mut self) {
        while let Ok(Some(heard)) = self.signals.read_signal() {
            let number = i32::try_from(heard.ssi_signo).unwrap_or_default();
            match Signal::try_from(number) {
                Ok(Signal::SIGTERM) => signal_all(Signal::SIGTERM),
                Ok(Signal::SIGUSR1) => {
                    self.stage = SupervisorState::Killing(Instant::now() + KILL_MAX)
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Reaps everything that ended; returns false once nothing is left.
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

    /// Does what is due; returns false once nothing more can be done.
    fn run_due(&mut self) -> bool {
        let now = Instant::now();
        match self.stage {
            SupervisorState::Orphaned(at) if now >= at => {
                signal_all(Signal::SIGTERM);
                self.stage = SupervisorState::Terminating(now + TERM_GRACE);
            }
            SupervisorState::Terminating(at) if now >= at => {
                self.stage = SupervisorState::Killing(now + KILL_MAX);
                signal_all(Signal::SIGKILL);
            }
            SupervisorState::Killing(until) if now >= until => return false,
            SupervisorState::Killing(_) => signal_all(Signal::SIGKILL),
            SupervisorState::Running
            | SupervisorState::Orphaned(_)
            | SupervisorState::Terminating(_) => {}
        }
        true
    }

    /// Waits for a signal, the end of the parent, or the next deadline.
    fn sleep(&self) {
        let due = |at: Instant| at.saturating_duration_since(Instant::now());
        let patience = match (self.stage, &self.parent_ended) {
            (SupervisorState::Orphaned(at) | SupervisorState::Terminating(at), _) => Some(due(at)),
            (SupervisorState::Killing(_), _) => Some(KILL_INTERVAL),
            (SupervisorState::Running, None) => Some(PARENT_CHECK_INTERVAL),
            (SupervisorState::Running, Some(_)) => None,
        };
        let patience = patience.map_or(PollTimeout::NONE, |time| {
            // Round up: waking too early would make the last millisecond a busy loop.
            PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let mut sources = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        // Once the parent is gone its descriptor stays readable and would wake us forever.
        if let (SupervisorState::Running, Some(parent)) = (self.stage, &self.parent_ended) {
            sources.push(PollFd::new(parent.as_fd(), PollFlags::POLLIN));
        }
        // Whatever woke us is checked again.
        let _ = poll(&mut sources, patience);
    }

    /// Exits as the child exited.
    fn exit_code(&self) -> ExitCode {
        match self.status {
            Some(WaitStatus::Exited(_, code)) => ExitCode::from(code as u8),
            Some(WaitStatus::Signaled(_, signal, _)) => {
                // The relevant core dump is the child's, not ours.
                let _ = prctl::set_dumpable(false);
                let _ = SigSet::all().thread_unblock();
                let _ = raise(signal);
                ExitCode::from(128_u8.saturating_add(signal as u8))
            }
            Some(_) | None => {
                // It is stuck, or could not be listed: only the group can be reached.
                let _ = killpg(getpgrp(), Signal::SIGKILL);
                ExitCode::FAILURE
            }
        }
    }
}
