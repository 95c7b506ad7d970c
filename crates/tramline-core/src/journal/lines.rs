//! A journal as bytes: one line of JSON for each event.

use super::Entry;
use crate::ids::Seq;
use std::fmt;

/// A stretch of a journal that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The event it stopped at.
    pub seq: Seq,
    /// What was wrong.
    pub message: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {} of the journal cannot be read: {}",
            self.seq, self.message
        )
    }
}

impl std::error::Error for Unreadable {}

/// Larger events are refused: a value shared a thousand times over is small in memory and has no
/// end on disk.
pub const EVENT_BYTES_MAX: usize = 32 << 20;

/// An event that is larger than [`EVENT_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it takes more than the {EVENT_BYTES_MAX} bytes that one event may"
        )
    }
}

impl std::error::Error for TooLarge {}

/// Adds an event's line to `out`: `[at_ms, event]` as JSON. Its place is where it stands.
pub fn encode(entry: &Entry, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    let before = out.len();
    let mut bounded = Bounded {
        most: before + EVENT_BYTES_MAX,
        out,
    };
    // Nothing but the bound can fail: keys are texts, and a `Vec` takes what it is given.
    let written = serde_json::to_writer(&mut bounded, &(entry.at_ms, &entry.event));
    if written.is_err() {
        out.truncate(before);
        return Err(TooLarge);
    }
    out.push(b'\n');
    Ok(())
}

struct Bounded<'a> {
    most: usize,
    out: &'a mut Vec<u8>,
}

impl std::io::Write for Bounded<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.out.len() + bytes.len() > self.most {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads the lines that [`encode`] wrote, the first of which is event `first`.
pub fn decode(first: Seq, body: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    body.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .enumerate()
        .map(|(at, line)| {
            let seq = first + at as Seq;
            let (at_ms, event) = serde_json::from_slice(line).map_err(|error| Unreadable {
                seq,
                message: error.to_string(),
            })?;
            Ok(Entry { seq, at_ms, event })
        })
        .collect()
}
