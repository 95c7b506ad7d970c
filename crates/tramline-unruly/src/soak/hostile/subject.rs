//! A server under attack: started with little memory and few descriptors, ended, started again.

use super::meter::Sample;
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

/// Address space of a server in bytes. Threads and arenas reserve much that they never touch; one
/// that runs away ends itself here before the machine is short of memory.
const ADDRESS_SPACE_BYTES: u64 = 6 * 1024 * 1024 * 1024;

/// Open descriptors of a server: half of what systems usually give.
const DESCRIPTORS: u64 = 512;

/// A server listens within this, also with the runs of one that was killed to recover.
const START_MAX: Duration = Duration::from_secs(45);

/// One that has not ended so long after SIGTERM is killed; the bound is lower.
const STOP_MAX: Duration = Duration::from_secs(20);

/// How often a process is looked at that is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// One of the servers.
pub(super) struct Subject {
    pub(super) name: &'static str,
    tramline: PathBuf,
    /// What is given before `--http`.
    arguments: Vec<String>,
    /// Where its output goes.
    logs: PathBuf,
    live: Mutex<Option<Live>>,
    /// Held while it is being started: two may find that it has to be.
    starting: Mutex<()>,
    starts: AtomicU64,
    /// What all marks of its processes begin with.
    mark: String,
}

/// Its present process.
struct Live {
    child: Child,
    address: SocketAddr,
    start: u64,
}

/// How a process ended.
pub(super) struct Ending {
    pub(super) took: Duration,
    pub(super) status: ExitStatus,
    /// It had to be killed after all.
    pub(super) was_forced: bool,
    /// The mark of the processes that it started.
    pub(super) mark: String,
}

impl Subject {
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

    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it listens, while it does.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.live().as_ref().map(|live| live.address)
    }

    /// The number of its present start: another number is another process.
    pub(super) fn start_number(&self) -> u64 {
        self.live().as_ref().map_or(0, |live| live.start)
    }

    /// What it uses now.
    pub(super) fn sample(&self) -> Option<Sample> {
        let id = self.live().as_ref()?.child.id();
        Sample::of(id)
    }

    fn log(&self, start: u64, stream: &str) -> PathBuf {
        self.logs.join(format!("{}-{start}.{stream}", self.name))
    }

    /// Everything that its processes wrote to their streams.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        (1..=self.starts.load(Ordering::SeqCst))
            .flat_map(|start| [self.log(start, "out"), self.log(start, "err")])
            .collect()
    }

    /// Starts it, unless it is there, and waits until it listens.
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
                *self.live() = Some(Live {
                    child,
                    address,
                    start,
                });
                return Ok(());
            }
            if let Some(status) = child.try_wait()? {
                bail!("{} ended at its start with {status}: {said:?}", self.name);
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

    /// How it ended, if it did so by itself.
    pub(super) fn has_ended(&self) -> Option<String> {
        let mut live = self.live();
        let ended = live.as_mut()?.child.try_wait().ok().flatten()?;
        let start = live.take().map_or(0, |live| live.start);
        let err = fs::read_to_string(self.log(start, "err")).unwrap_or_default();
        let tail: Vec<_> = err.lines().rev().take(5).collect();
        Some(format!("{} ended with {ended}: {tail:?}", self.name))
    }

    /// Ends it with a signal, and by force if that does not help; nothing if it was not there.
    pub(super) fn end(&self, signal: Signal) -> Result<Option<Ending>> {
        let Some(Live {
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
        Ok(Some(Ending {
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

impl Drop for Subject {
    /// Nothing outlives a soak, also one that ends early.
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

/// The address in what a server says at its start.
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
        let said = "2 unfinished runs go on\nserving at http://127.0.0.1:4321/mcp\n";
        assert_eq!(address(said), Some(([127, 0, 0, 1], 4321).into()));
        assert_eq!(address("serving at http://127.0.0.1:43"), None);
    }
}
