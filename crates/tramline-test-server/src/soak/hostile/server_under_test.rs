//! A server under attack: started with little memory and few descriptors, stopped, restarted.

use super::meter::UsageSample;
use crate::processes::{self, MARK};
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Address space of a server in bytes. Threads and arenas reserve much that they never use; a
/// runaway server fails here before the machine is short of memory.
const ADDRESS_SPACE_BYTES: u64 = 6 * 1024 * 1024 * 1024;

/// Open descriptors of a server: half of the usual limit.
const DESCRIPTORS: u64 = 512;

/// A server listens within this time, even if it recovers runs of a killed one.
const START_MAX: Duration = Duration::from_secs(45);

/// A server that has not exited this long after SIGTERM is killed; the limit that is checked is
/// lower.
const STOP_MAX: Duration = Duration::from_secs(20);

/// Interval between checks of a process.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// One of the servers.
pub(super) struct ServerUnderTest {
    pub(super) name: &'static str,
    tramline: PathBuf,
    /// The arguments before `--http`.
    arguments: Vec<String>,
    /// The directory of its output.
    logs: PathBuf,
    live: Mutex<Option<RunningProcess>>,
    /// Held while it is being started, because two threads may try.
    starting: Mutex<()>,
    starts: AtomicU64,
    /// The common prefix of the marks of its processes.
    mark: String,
}

/// Its current process.
struct RunningProcess {
    child: Child,
    address: SocketAddr,
    start: u64,
}

/// How a process ended.
pub(super) struct ProcessExit {
    pub(super) took: Duration,
    pub(super) status: ExitStatus,
    /// It had to be killed.
    pub(super) was_forced: bool,
    /// The mark of the processes that it started.
    pub(super) mark: String,
}

impl ServerUnderTest {
    pub(super) fn new(
        name: &'static str,
        tramline: PathBuf,
        logs: PathBuf,
        arguments: &[&str],
    ) -> Self {
        Self {
            name,
            tramline,
            arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
            logs,
            live: Mutex::default(),
            starting: Mutex::default(),
            starts: AtomicU64::new(0),
            mark: processes::mark(),
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<RunningProcess>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address it listens on, if it runs.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.live().as_ref().map(|live| live.address)
    }

    /// The number of its current start: another number means another process.
    pub(super) fn start_number(&self) -> u64 {
        self.live().as_ref().map_or(0, |live| live.start)
    }

    /// Its current resource usage.
    pub(super) fn sample(&self) -> Option<UsageSample> {
        let id = self.live().as_ref()?.child.id();
        UsageSample::of(id)
    }

    fn log(&self, start: u64, stream: &str) -> PathBuf {
        self.logs.join(format!("{}-{start}.{stream}", self.name))
    }

    /// The files with all output of its processes.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        (1..=self.starts.load(Ordering::SeqCst))
            .flat_map(|start| [self.log(start, "out"), self.log(start, "err")])
            .collect()
    }

    /// Starts it unless it runs, and waits until it listens.
    pub(super) fn start(&self) -> Result<()> {
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.address().is_some() {
            return Ok(());
        }
        let start = self.starts.fetch_add(1, Ordering::SeqCst) + 1;
        let (out, err) = (self.log(start, "out"), self.log(start, "err"));
        let mut child = Command::new("prlimit")
            .arg(format!("--as={ADDRESS_SPACE_BYTES}"))
            .arg(format!("--nofile={DESCRIPTORS}"))
            .args(["--core=0", "--"])
            .arg(&self.tramline)
            .args(&self.arguments)
            .args(["--http", "127.0.0.1:0"])
            .env(MARK, format!("{}-{start}", self.mark))
            .env_remove("TRAMLINE_TOKEN")
            .env_remove("TRAMLINE_CONFIG")
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()
            .context("starting prlimit, a program of util-linux")?;
        let begun = Instant::now();
        loop {
            let said = [&out, &err].map(|path| fs::read_to_string(path).unwrap_or_default());
            if let Some(address) = said.iter().find_map(|text| address(text)) {
                *self.live() = Some(RunningProcess {
                    child,
                    address,
                    start,
                });
                return Ok(());
            }
            if let Some(status) = child.try_wait()? {
                bail!(
                    "{} exited during startup with {status}: {said:?}",
                    self.name
                );
            }
            if begun.elapsed() > START_MAX {
                child.kill()?;
                child.wait()?;
                bail!(
                    "{} does not listen after {START_MAX:?}: {said:?}",
                    self.name
                );
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// How it ended, if it exited by itself.
    pub(super) fn has_ended(&self) -> Option<String> {
        let mut live = self.live();
        let ended = live.as_mut()?.child.try_wait().ok().flatten()?;
        let start = live.take().map_or(0, |live| live.start);
        let err = fs::read_to_string(self.log(start, "err")).unwrap_or_default();
        let tail: Vec<_> = err.lines().rev().take(5).collect();
        Some(format!("{} ended with {ended}: {tail:?}", self.name))
    }

    /// Stops it with a signal, and by force if that does not help; `None` if it did not run.
    pub(super) fn end(&self, signal: Signal) -> Result<Option<ProcessExit>> {
        let Some(RunningProcess {
            mut child, start, ..
        }) = self.live().take()
        else {
            return Ok(None);
        };
        let begun = Instant::now();
        if let Ok(id) = i32::try_from(child.id()) {
            let _ = kill(Pid::from_raw(id), signal);
        }
        let mut was_forced = false;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begun.elapsed() > STOP_MAX && !was_forced {
                was_forced = true;
                child.kill()?;
            }
            std::thread::sleep(LOOK_AGAIN);
        };
        Ok(Some(ProcessExit {
            took: begun.elapsed(),
            status,
            was_forced,
            mark: format!("{}-{start}", self.mark),
        }))
    }

    /// The marks of all its processes so far.
    pub(super) fn marks(&self) -> Vec<String> {
        (1..=self.starts.load(Ordering::SeqCst))
            .map(|start| format!("{}-{start}", self.mark))
            .collect()
    }
}

impl Drop for ServerUnderTest {
    /// Nothing outlives a soak, not even one that ends early.
    fn drop(&mut self) {
        if let Some(mut live) = self.live().take() {
            let _ = live.child.kill();
            let _ = live.child.wait();
        }
        for mark in self.marks() {
            processes::kill_marked(&mark);
        }
    }
}

/// The address in a server's startup output.
fn address(text: &str) -> Option<SocketAddr> {
    let (_, rest) = text.split_once("http://")?;
    let end = rest.find('/')?;
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_is_printed() {
        let said = "2 unfinished runs resumed\nserving at http://127.0.0.1:4321/mcp\n";
        assert_eq!(address(said), Some(([127, 0, 0, 1], 4321).into()));
        assert_eq!(address("serving at http://127.0.0.1:43"), None);
    }
}
