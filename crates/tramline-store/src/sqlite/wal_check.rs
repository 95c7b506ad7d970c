//! Detects lost commits in the write-ahead log.
//!
//! SQLite reads a log up to the first frame with a wrong checksum, and treats everything after it
//! as left over from an older log. After a flipped bit in one frame, whole commits are silently
//! lost, and the next write overwrites them. Frames of the same log carry the same two salts, so
//! lost frames can be distinguished from leftovers.

use super::database::log_path;
use rusqlite::Connection;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes before the first frame, and before each page in a frame.
const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// The maximum number of frames to check: a log of 64 MiB, sixteen times its usual size.
const FRAMES_MAX: u64 = 8_192;

/// The largest log to copy, in bytes.
const COPIED_BYTES_MAX: u64 = 256 << 20;

/// The maximum number of copies in a data directory: they are never removed automatically.
const COPIES_MAX: usize = 4;

/// What the name of a copy has after that of the log.
const COPY_MARK: &str = ".damaged-";

/// How often the check is repeated: another process may be writing right now.
const CHECKS_MAX: usize = 3;

/// Frames in a log that SQLite does not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LostFrames {
    /// The number of frames of this log from the first damaged one on.
    frames: u64,
    /// How many of them ended a commit.
    commits: u64,
    log: PathBuf,
    salts: Salts,
}

type Salts = [u8; 8];

/// The frames that SQLite does not use; `None` if there are none, or if that cannot be determined.
pub(super) fn lost_frames(conn: &Connection) -> Option<LostFrames> {
    let path = log_path(conn)?;
    let mut before = None;
    for _ in 0..CHECKS_MAX {
        let used = used_frames(conn);
        let lost = check(&path, used).ok()??;
        // A commit that another process was making has finished by the next check.
        if before.as_ref() == Some(&lost) {
            return before;
        }
        before = Some(lost);
    }
    None
}

/// The number of frames that SQLite uses; unknown in a read-only database.
fn used_frames(conn: &Connection) -> Option<u64> {
    let used = conn.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| {
        row.get::<_, i64>(1)
    });
    used.ok().and_then(|used| u64::try_from(used).ok())
}

fn check(path: &Path, used: Option<u64>) -> io::Result<Option<LostFrames>> {
    let Some(log) = WalFile::open(path)? else {
        return Ok(None);
    };
    // If SQLite does not say, check all frames.
    let used = used.unwrap_or(0);
    // Frames of an unfinished commit, or of one whose process died before publishing it, are
    // intact.
    let broken = log.first_damaged(used)?;
    let (mut frames, mut commits) = (0, 0);
    for frame in broken..log.frames.min(broken.saturating_add(FRAMES_MAX)) {
        let header = log.frame_header(frame)?;
        // A frame whose checksum continues the chain belongs to this log, whatever its salts.
        if header.salts() == log.salts || (frame == broken && log.checksum_matches(frame)?) {
            frames += 1;
            commits += u64::from(header.ends_commit());
        }
    }
    Ok((commits > 0).then(|| LostFrames {
        frames,
        commits,
        log: path.to_owned(),
        salts: log.salts,
    }))
}

impl LostFrames {
    /// Saves a copy of the log, and describes the loss and the next step.
    pub(super) fn warning(&self) -> String {
        let Self {
            frames,
            commits,
            log,
            ..
        } = self;
        let kept = match self.save_copy() {
            Ok(copy) => format!("A copy of the log is at {}", copy.display()),
            Err(error) => {
                format!("The log could not be copied ({error}); copy it before anything is written")
            }
        };
        format!(
            "the log {} is damaged: {frames} of its frames, with {commits} commits, are unusable, so \
             the latest runs may be missing. {kept}. Restore the data directory from a \
             backup, or run `tramline doctor --deep` to check whether the rest is intact",
            log.display()
        )
    }

    /// The next write overwrites the unusable frames; a copy preserves them for analysis.
    fn save_copy(&self) -> io::Result<PathBuf> {
        let name: String = self
            .salts
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let mut copy = self.log.clone().into_os_string();
        copy.push(format!("{COPY_MARK}{name}"));
        let copy = PathBuf::from(copy);
        if copy.exists() {
            return Ok(copy);
        }
        if self.copies() >= COPIES_MAX {
            let message = format!("there are {COPIES_MAX} copies of earlier logs, remove them");
            return Err(io::Error::other(message));
        }
        if fs::metadata(&self.log)?.len() > COPIED_BYTES_MAX {
            return Err(io::Error::other("it is too large"));
        }
        fs::copy(&self.log, &copy)?;
        Ok(copy)
    }
}

impl LostFrames {
    /// The number of copies that were saved before.
    fn copies(&self) -> usize {
        let entries = self.log.parent().map(fs::read_dir);
        let Some(Ok(entries)) = entries else {
            return 0;
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().contains(COPY_MARK))
            .count()
    }
}

/// A log file on disk. SQLite's locks are on other files, so opening it here is safe.
struct WalFile {
    file: File,
    salts: Salts,
    header_is_whole: bool,
    page_bytes: usize,
    /// Whether its checksums use big-endian numbers.
    big: bool,
    /// The checksum up to the first frame.
    sum: WalChecksum,
    /// The number of frames that fit in the file.
    frames: u64,
}

struct FrameHeader([u8; FRAME_HEADER_BYTES]);

impl FrameHeader {
    fn salts(&self) -> Salts {
        let mut salts = Salts::default();
        salts.copy_from_slice(&self.0[8..16]);
        salts
    }

    fn ends_commit(&self) -> bool {
        self.0[4..8] != [0; 4]
    }

    fn sum(&self) -> WalChecksum {
        WalChecksum(number(&self.0[16..20], true), number(&self.0[20..24], true))
    }
}

impl WalFile {
    /// `None` if there is no log, or one without a frame.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = file.metadata()?.len();
        if bytes < (HEADER_BYTES + FRAME_HEADER_BYTES) as u64 {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let page_bytes = number(&header[8..12], true) as usize;
        if !page_bytes.is_power_of_two() || !(512..=65_536).contains(&page_bytes) {
            // Without a valid page size, frames cannot be located.
            return Ok(None);
        }
        let big = header[3] & 1 == 1;
        let sum = WalChecksum::default().update(&header[..24], big);
        let told = WalChecksum(number(&header[24..28], true), number(&header[28..32], true));
        let mut log = Self {
            file,
            salts: Salts::default(),
            header_is_whole: sum == told,
            page_bytes,
            big,
            sum,
            frames: (bytes - HEADER_BYTES as u64) / (FRAME_HEADER_BYTES + page_bytes) as u64,
        };
        log.salts.copy_from_slice(&header[16..24]);
        if !log.header_is_whole && log.frames > 0 {
            // The first frame determines which log it is.
            log.salts = log.frame_header(0)?.salts();
        }
        Ok((log.salts != [0; 8]).then_some(log))
    }

    fn frame_offset(&self, frame: u64) -> u64 {
        HEADER_BYTES as u64 + frame * (FRAME_HEADER_BYTES + self.page_bytes) as u64
    }

    fn frame_header(&self, frame: u64) -> io::Result<FrameHeader> {
        let mut header = [0; FRAME_HEADER_BYTES];
        self.file
            .read_exact_at(&mut header, self.frame_offset(frame))?;
        Ok(FrameHeader(header))
    }

    /// Whether a frame is intact and follows the ones before it.
    fn is_frame_intact(&self, frame: u64) -> io::Result<bool> {
        let follows = self.header_is_whole && self.checksum_matches(frame)?;
        Ok(follows && self.frame_header(frame)?.salts() == self.salts)
    }

    /// Whether a frame's checksum covers all frames before it and its own page.
    fn checksum_matches(&self, frame: u64) -> io::Result<bool> {
        let before = match frame.checked_sub(1) {
            None => self.sum,
            Some(before) if before < self.frames => self.frame_header(before)?.sum(),
            Some(_) => return Ok(false),
        };
        if frame >= self.frames {
            return Ok(false);
        }
        let header = self.frame_header(frame)?;
        let mut page = vec![0; self.page_bytes];
        let place = self.frame_offset(frame) + FRAME_HEADER_BYTES as u64;
        self.file.read_exact_at(&mut page, place)?;
        let sum = before
            .update(&header.0[..8], self.big)
            .update(&page, self.big);
        Ok(sum == header.sum())
    }

    /// The first frame at or after `from` that is not intact.
    fn first_damaged(&self, from: u64) -> io::Result<u64> {
        let mut frame = from;
        while frame - from < FRAMES_MAX && self.is_frame_intact(frame)? {
            frame += 1;
        }
        Ok(frame)
    }
}

/// The running checksum of a log; every frame stores its value at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WalChecksum(u32, u32);

impl WalChecksum {
    /// Adds these bytes, a multiple of eight.
    fn update(self, bytes: &[u8], big: bool) -> Self {
        bytes
            .chunks_exact(8)
            .fold(self, |Self(first, second), pair| {
                let first = first
                    .wrapping_add(number(&pair[..4], big))
                    .wrapping_add(second);
                let second = second
                    .wrapping_add(number(&pair[4..], big))
                    .wrapping_add(first);
                Self(first, second)
            })
    }
}

fn number(bytes: &[u8], big: bool) -> u32 {
    let fold = |all: u32, byte: &u8| all << 8 | u32::from(*byte);
    match big {
        true => bytes.iter().fold(0, fold),
        false => bytes.iter().rev().fold(0, fold),
    }
}
