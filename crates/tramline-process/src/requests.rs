//! Requests to end this process.

use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::thread;

/// The source of a request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndRequest {
    /// A person at the terminal pressed Ctrl-C: `SIGINT`.
    Interrupt,
    /// A service manager or another program: `SIGTERM`.
    Terminate,
    /// A terminal or connection was closed: `SIGHUP`.
    HangUp,
}

/// Calls `hear` for every request, on a dedicated thread that nothing else can block. From then on
/// these signals do not end the process by themselves.
///
/// Call it before any other thread exists: existing threads would still receive the signals. A
/// signal that the process was started to ignore, as by `nohup`, stays ignored.
pub fn on_end_requests(mut hear: impl FnMut(EndRequest) + Send + 'static) -> io::Result<()> {
    let ignored = ignored_signals();
    let mut heard = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        if ignored & (1 << (signal as i32 - 1)) == 0 {
            heard.add(signal);
        }
    }
    heard.thread_block()?;
    let thread = thread::Builder::new().name("end-requests".into());
    thread.spawn(move || {
        while let Ok(signal) = heard.wait() {
            hear(match signal {
                Signal::SIGINT => EndRequest::Interrupt,
                Signal::SIGHUP => EndRequest::HangUp,
                _ => EndRequest::Terminate,
            });
        }
    })?;
    Ok(())
}

/// The signals that this process ignores, as a bit set; empty if the system does not report them.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
