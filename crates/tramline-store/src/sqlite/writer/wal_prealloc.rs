//! Preallocates the write-ahead log.
//!
//! A commit that extends the log makes the file system update its metadata, and its sync takes half
//! as long again. So the log is extended for many commits at once, with zeros, which SQLite treats
//! as the end of the log.

use super::super::database::{LOG_BYTES_MAX, log_path};
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

/// How far the log is extended at once, in bytes: about fifteen commits.
const STEP_BYTES: u64 = STEPS * ZEROS.len() as u64;
const STEPS: u64 = 4;

/// Static: allocating this memory each time takes as long as writing it.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The state of the log between commits. Only the current writer uses it.
#[derive(Debug, Default)]
pub(super) struct WalPrealloc {
    /// The log. SQLite's locks are on other files, so keeping it open here is safe.
    log: Option<File>,
    /// Its length after the last commit.
    bytes: u64,
    /// Whether the last commit extended it.
    was_extended: bool,
}

impl WalPrealloc {
    /// Extends the log if the last commit used up the space. Called inside a transaction: there are
    /// no other writers, and no one reads behind its end.
    pub(super) fn before_commit(&mut self, conn: &Connection) {
        if self.log.is_none() {
            self.log = log_path(conn).and_then(|path| open(path).ok());
        }
        if !std::mem::take(&mut self.was_extended) {
            return;
        }
        // Another process may have extended it since.
        self.bytes = self.length();
        if self.bytes == 0 || self.bytes >= LOG_BYTES_MAX {
            return;
        }
        if let Some(log) = &self.log {
            match extend(log, self.bytes) {
                Ok(()) => self.bytes += STEP_BYTES,
                // A full disk still has the space that this took.
                Err(_) => drop(log.set_len(self.bytes)),
            }
        }
    }

    /// Checks whether the commit extended the log.
    pub(super) fn after_commit(&mut self) {
        let bytes = self.length();
        self.was_extended = bytes > self.bytes;
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

fn extend(log: &File, end: u64) -> io::Result<()> {
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
