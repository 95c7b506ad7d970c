//! A journal as bytes: one line of JSON for each event.

use super::{ContentDigest, DocumentRef, Entry, Event, Guided, Started};
use crate::ids::Seq;
use crate::sop::Sop;
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
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

/// Adds an event's line to `out`: `[at_ms, event]` as JSON. Its place is where it stands. The
/// documents of a beginning are in it.
pub fn encode(entry: &Entry, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    write_line(entry.at_ms, &entry.event, out)
}

/// Adds a beginning's line that names its documents, in their order, instead of holding them. Any
/// other event, and one with other than so many documents, is written as by [`encode`].
pub fn encode_named(
    entry: &Entry,
    documents: &[ContentDigest],
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    /// A beginning as [`Event`] writes it.
    #[derive(Serialize)]
    enum Line {
        Started(Box<Started<ContentDigest>>),
        Guided(Guided<ContentDigest>),
    }
    if let (Event::Started(started), [workflow]) = (&entry.event, documents) {
        let started = Started::clone(started).with(*workflow);
        return write_line(entry.at_ms, &Line::Started(Box::new(started)), out);
    }
    if let Event::Guided(begun) = &entry.event
        && begun.sops.len() == documents.len()
    {
        let begun = Guided::clone(begun).with(documents.to_vec());
        return write_line(entry.at_ms, &Line::Guided(begun), out);
    }
    encode(entry, out)
}

fn write_line(at_ms: i64, event: &impl Serialize, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    write_bounded(&(at_ms, event), out)?;
    out.push(b'\n');
    Ok(())
}

/// Adds a value as JSON, unless it takes more than [`EVENT_BYTES_MAX`].
pub(super) fn write_bounded(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    let before = out.len();
    let mut bounded = Bounded {
        most: before + EVENT_BYTES_MAX,
        out,
    };
    // Nothing but the bound can fail: keys are texts, and a `Vec` takes what it is given.
    let written = serde_json::to_writer(&mut bounded, value);
    if written.is_err() {
        out.truncate(before);
        return Err(TooLarge);
    }
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

/// How a journal begins, as its first line says it: its documents may be named only.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum Beginning {
    /// With a workflow.
    Started(Box<Started<DocumentRef<Workflow>>>),
    /// With procedures.
    Guided(Box<Guided<DocumentRef<Sop>>>),
}

/// Reads how a journal begins and when. Nothing, if its first line is no beginning.
pub fn decode_beginning(body: &[u8]) -> Option<(i64, Beginning)> {
    let line = body.split(|&byte| byte == b'\n').next()?;
    serde_json::from_slice(line).ok()
}

/// What follows after so many lines.
pub fn skip_lines(body: &[u8], lines: usize) -> &[u8] {
    let mut rest = body;
    for _ in 0..lines {
        let end = rest.iter().position(|&byte| byte == b'\n');
        rest = end.map_or(&[], |end| &rest[end + 1..]);
    }
    rest
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
