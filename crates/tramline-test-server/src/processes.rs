//! Inspects processes from outside. They are found by a mark in their environment, whatever their
//! parent is by now.

use anyhow::{Result, bail};
pub use nix::sys::signal::Signal;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The environment variable that holds the mark.
pub const MARK: &str = "UNRULY_MARK";

/// Interval between checks of a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A mark that no other process has.
pub fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}", std::process::id())
}

/// The living processes with a mark in their environment.
pub fn marked(mark: &str) -> Vec<u32> {
    let needle = format!("{MARK}={mark}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let carries = environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == needle.as_bytes());
            carries && !is_zombie(*id)
        })
        .collect()
}

fn is_zombie(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_none_or(|rest| rest.trim_start().starts_with('Z'))
}

/// Sends a signal to one process.
pub fn send(id: u32, signal: Signal) -> Result<()> {
    kill(Pid::from_raw(i32::try_from(id)?), signal)?;
    Ok(())
}

/// Kills every process with the mark, like a power loss.
pub fn kill_marked(mark: &str) {
    for id in marked(mark) {
        if let Ok(id) = i32::try_from(id) {
            // It may have exited meanwhile.
            let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// Waits until no process has the mark.
pub fn wait_until_gone(mark: &str, patience: Duration) -> Result<()> {
    wait_until(patience, || marked(mark).is_empty()).or_else(|_| {
        let left = marked(mark);
        bail!("processes {left:?} still live after {patience:?}")
    })
}

/// Waits until a condition holds, checking often.
pub fn wait_until(patience: Duration, mut holds: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > patience {
            bail!("the condition did not hold within {patience:?}");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}
