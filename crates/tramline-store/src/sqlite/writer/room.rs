//! Room in the log for commits to come.
//!
//! A commit that makes the log longer has the disk write down where its new blocks are, and its sync
//! takes half as long again. So the log is made longer for many commits at once, with zeros, which
//! SQLite takes for the end of a log.

use super::super::place::{LOG_BYTES_MAX, log_of};
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

/// How much longer the log is made at once, in bytes: about fifteen commits.
const STEP_BYTES: u64 = STEPS * ZEROS.len() as u64;
const STEPS: u64 = 4;

/// At hand: to ask for as much memory each time takes as long as to write it.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// What is known of the log between commits. Whoever asks has the connection that writes.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// The log. SQLite's locks are on other files, so that it is open here does no harm.
    log: Option<File>,
    /// How long it was after the last commit.
    bytes: u64,
    /// Whether the last commit made it longer.
    full: bool,
}

impl Room {
    /// Makes room if the last commit had none left. A transaction has begun: nobody else writes to
    /// the log, and behind its end nobody reads.
    pub(super) fn before(&mut self, conn: &Connection) {
        if self.log.is_none() {
            self.log = log_of(conn).and_then(|path| open(path).ok());
        }
        if !std::mem::take(&mut self.full) {
            return;
        }
        // Another process may have made it longer since.
        self.bytes = self.length();
        if self.bytes == 0 || self.bytes >= LOG_BYTES_MAX {
            return;
        }
        if let Some(log) = &self.log {
            match longer(log, self.bytes) {
                Ok(()) => self.bytes += STEP_BYTES,
                // A disk that is full still has what this took.
                Err(_) => drop(log.set_len(self.bytes)),
            }
        }
    }

    /// Looks whether the commit found room.
    pub(super) fn after(&mut self) {
        let bytes = self.length();
        self.full = bytes > self.bytes;
        self.bytes = bytes;
    }

    fn length(&self) -> u64 {
        let about = self.log.as_ref().and_then(|log| log.metadata().ok());
        about.map_or(0, |about| about.len())
    }
}

fn open(path: PathBuf) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

fn longer(log: &File, end: u64) -> io::Result<()> {
    (0..STEPS).try_for_each(|step| write_at(log, &ZEROS, end + step * ZEROS.len() as u64))
}

#[cfg(unix)]
fn write_at(log: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(log, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut log: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    log.seek(SeekFrom::Start(at))?;
    log.write_all(bytes)
}
