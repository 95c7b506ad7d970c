//! Looks whether the log holds more than SQLite can use of it.
//!
//! SQLite reads a log up to the first frame that is not as it was written, and takes all that follows
//! for the remains of an older log. After a flipped bit in one frame, whole commits are gone without
//! a word, and the next write goes over them. Frames of the same log carry the same two numbers, its
//! salts: so what was lost can be told from what was left over.

use super::place::log_of;
use rusqlite::Connection;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes before the first frame, and before each page in a frame.
const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// Frames that are looked at: a log of 64 MiB, sixteen times as long as it usually gets.
const FRAMES_MAX: u64 = 8_192;

/// A longer log is not copied, in bytes.
const COPIED_BYTES_MAX: u64 = 256 << 20;

/// How often it is looked again: another process may be writing this very moment.
const LOOKS_MAX: usize = 3;

/// What a log holds that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LostFrames {
    /// Frames of this log behind the first that is not as it was written, with that one.
    frames: u64,
    /// How many of them ended a commit.
    commits: u64,
    log: PathBuf,
    salts: Salts,
}

type Salts = [u8; 8];

/// What the log holds beyond what SQLite uses; nothing where all is well, or nothing can be said.
pub(super) fn lost_frames(conn: &Connection) -> Option<LostFrames> {
    let path = log_of(conn)?;
    let mut before = None;
    for _ in 0..LOOKS_MAX {
        let used = used_frames(conn);
        let lost = look(&path, used).ok()??;
        // A commit of another process that was under way is done the next time.
        if before.as_ref() == Some(&lost) {
            return before;
        }
        before = Some(lost);
    }
    None
}

/// The frames that SQLite uses, if it says so: it does not where nothing may be written.
fn used_frames(conn: &Connection) -> Option<u64> {
    let used = conn.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| {
        row.get::<_, i64>(1)
    });
    used.ok().and_then(|used| u64::try_from(used).ok())
}

fn look(path: &Path, used: Option<u64>) -> io::Result<Option<LostFrames>> {
    let Some(log) = Log::open(path)? else {
        return Ok(None);
    };
    // Where SQLite does not say, all of it is looked at.
    let used = used.unwrap_or(0);
    // Frames of a commit that was never finished, or that its process did not live to announce, are as
    // they were written.
    let broken = log.first_broken(used)?;
    let (mut frames, mut commits) = (0, 0);
    for frame in broken..log.frames.min(broken.saturating_add(FRAMES_MAX)) {
        let header = log.frame_header(frame)?;
        // A frame whose sum follows is of this log, whatever became of its salts.
        if header.salts() == log.salts || (frame == broken && log.sum_follows(frame)?) {
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
    /// Keeps a copy of the log, and says what is lost and what to do.
    pub(super) fn warning(&self) -> String {
        let Self {
            frames,
            commits,
            log,
            ..
        } = self;
        let kept = match self.keep_copy() {
            Ok(copy) => format!("A copy of the log is kept at {}", copy.display()),
            Err(error) => {
                format!("The log could not be copied ({error}); copy it before anything is written")
            }
        };
        format!(
            "the log {} is damaged: {frames} of its frames, with {commits} commits, cannot be used, so \
             that the runs written last may be missing. {kept}. Restore the data directory from a \
             backup, or run `tramline doctor --deep` to see whether what is left is whole",
            log.display()
        )
    }

    /// The next write goes over what cannot be used; somebody may still want to look at it.
    fn keep_copy(&self) -> io::Result<PathBuf> {
        let name: String = self
            .salts
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let mut copy = self.log.clone().into_os_string();
        copy.push(format!(".damaged-{name}"));
        let copy = PathBuf::from(copy);
        if copy.exists() {
            return Ok(copy);
        }
        if fs::metadata(&self.log)?.len() > COPIED_BYTES_MAX {
            return Err(io::Error::other("it is too long"));
        }
        fs::copy(&self.log, &copy)?;
        Ok(copy)
    }
}

/// A log as it lies on the disk. SQLite's locks are on other files, so that it is opened here does
/// no harm.
struct Log {
    file: File,
    salts: Salts,
    header_is_whole: bool,
    page_bytes: usize,
    /// Whether its sums are over big-endian numbers.
    big: bool,
    /// The sum up to the first frame.
    sum: Sum,
    /// Frames that fit into the file.
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

    fn sum(&self) -> Sum {
        Sum(number(&self.0[16..20], true), number(&self.0[20..24], true))
    }
}

impl Log {
    /// Nothing if there is no log, or one without a frame.
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
            // Not even the frames can be found.
            return Ok(None);
        }
        let big = header[3] & 1 == 1;
        let sum = Sum::default().and(&header[..24], big);
        let told = Sum(number(&header[24..28], true), number(&header[28..32], true));
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
            // The first frame says which log it is of.
            log.salts = log.frame_header(0)?.salts();
        }
        Ok((log.salts != [0; 8]).then_some(log))
    }

    fn place(&self, frame: u64) -> u64 {
        HEADER_BYTES as u64 + frame * (FRAME_HEADER_BYTES + self.page_bytes) as u64
    }

    fn frame_header(&self, frame: u64) -> io::Result<FrameHeader> {
        let mut header = [0; FRAME_HEADER_BYTES];
        self.file.read_exact_at(&mut header, self.place(frame))?;
        Ok(FrameHeader(header))
    }

    /// Whether a frame follows those before it, as it was written.
    fn frame_is_whole(&self, frame: u64) -> io::Result<bool> {
        let follows = self.header_is_whole && self.sum_follows(frame)?;
        Ok(follows && self.frame_header(frame)?.salts() == self.salts)
    }

    /// Whether a frame's sum is that of all before it and its own page.
    fn sum_follows(&self, frame: u64) -> io::Result<bool> {
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
        let place = self.place(frame) + FRAME_HEADER_BYTES as u64;
        self.file.read_exact_at(&mut page, place)?;
        let sum = before.and(&header.0[..8], self.big).and(&page, self.big);
        Ok(sum == header.sum())
    }

    /// The first frame, from one on, that does not follow those before it as it was written.
    fn first_broken(&self, from: u64) -> io::Result<u64> {
        let mut frame = from;
        while frame - from < FRAMES_MAX && self.frame_is_whole(frame)? {
            frame += 1;
        }
        Ok(frame)
    }
}

/// The running sum over a log, of which every frame holds the value at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Sum {
    /// With these bytes, a multiple of eight.
    fn and(self, bytes: &[u8], big: bool) -> Self {
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
