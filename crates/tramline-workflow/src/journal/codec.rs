//! The JSON-lines encoding of a journal: one line per event.

use super::{ContentDigest, DocumentRef, Entry, Event, RunEvent, RunStarted, SopEvent, SopStarted};
use crate::ids::Seq;
use crate::sop::Sop;
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A part of a journal that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The position of the event that cannot be decoded.
    pub seq: Seq,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot decode event {} of the journal: {}",
            self.seq, self.message
        )
    }
}

impl std::error::Error for DecodeError {}

/// Bytes of one event. A value that shares its parts a thousand times is small in memory but huge
/// on disk.
pub const EVENT_BYTES_MAX: usize = 32 << 20;

/// An event that is larger than [`EVENT_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge;

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it exceeds the limit of {EVENT_BYTES_MAX} bytes per event"
        )
    }
}

impl std::error::Error for EventTooLarge {}

/// Appends an event's line to `out`: `[at_ms, event]` as JSON. The position is implied by the line.
/// A first event includes its documents.
pub fn encode(entry: &Entry, out: &mut Vec<u8>) -> Result<(), EventTooLarge> {
    write_line(entry.at_ms, &entry.event, out)
}

/// Appends a first event that names its documents by digest, in order. Any other event, or a
/// different number of documents, is written as by [`encode`].
pub fn encode_with_digests(
    entry: &Entry,
    documents: &[ContentDigest],
    out: &mut Vec<u8>,
) -> Result<(), EventTooLarge> {
    /// A first event in the form that [`Event`] serializes to.
    #[derive(Serialize)]
    enum FirstEventByDigest {
        Started(Box<RunStarted<ContentDigest>>),
        #[serde(rename = "Guided")]
        SopStarted(SopStarted<ContentDigest>),
    }
    if let (Event::Run(RunEvent::Started(started)), [workflow]) = (&entry.event, documents) {
        let started = RunStarted::clone(started).with_workflow(*workflow);
        return write_line(
            entry.at_ms,
            &FirstEventByDigest::Started(Box::new(started)),
            out,
        );
    }
    if let Event::Sop(SopEvent::SopStarted(begun)) = &entry.event
        && begun.sops.len() == documents.len()
    {
        let begun = SopStarted::clone(begun).with_sops(documents.to_vec());
        return write_line(entry.at_ms, &FirstEventByDigest::SopStarted(begun), out);
    }
    encode(entry, out)
}

fn write_line(at_ms: i64, event: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EventTooLarge> {
    write_bounded(&(at_ms, event), out)?;
    out.push(b'\n');
    Ok(())
}

/// Appends a value as JSON, unless it exceeds [`EVENT_BYTES_MAX`].
pub(super) fn write_bounded(
    value: &impl Serialize,
    out: &mut Vec<u8>,
) -> Result<(), EventTooLarge> {
    let before = out.len();
    let mut bounded = BoundedWriter {
        most: before + EVENT_BYTES_MAX,
        out,
    };
    // Only the limit can fail: keys are strings, and writing to a `Vec` is infallible.
    let written = serde_json::to_writer(&mut bounded, value);
    if written.is_err() {
        out.truncate(before);
        return Err(EventTooLarge);
    }
    Ok(())
}

struct BoundedWriter<'a> {
    most: usize,
    out: &'a mut Vec<u8>,
}

impl std::io::Write for BoundedWriter<'_> {
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

/// The first event of a journal; its documents may be given by digest only.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum FirstEvent {
    /// A run with its workflow.
    Started(Box<RunStarted<DocumentRef<Workflow>>>),
    /// An SOP session with its procedures.
    #[serde(rename = "Guided")]
    SopStarted(Box<SopStarted<DocumentRef<Sop>>>),
}

/// Decodes the first event of a journal and its time. `None` if the line is something else.
pub fn decode_first_event(body: &[u8]) -> Option<(i64, FirstEvent)> {
    let line = body.split(|&byte| byte == b'\n').next()?;
    serde_json::from_slice(line).ok()
}

/// The rest of a journal after this many lines.
pub fn skip_lines(body: &[u8], lines: usize) -> &[u8] {
    let mut rest = body;
    for _ in 0..lines {
        let end = rest.iter().position(|&byte| byte == b'\n');
        rest = end.map_or(&[], |end| &rest[end + 1..]);
    }
    rest
}

/// Decodes lines written by [`encode`]; the first one is event `first`.
pub fn decode(first: Seq, body: &[u8]) -> Result<Vec<Entry>, DecodeError> {
    body.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .enumerate()
        .map(|(at, line)| {
            let seq = first + at as Seq;
            let (at_ms, event) = serde_json::from_slice(line).map_err(|error| DecodeError {
                seq,
                message: error.to_string(),
            })?;
            Ok(Entry { seq, at_ms, event })
        })
        .collect()
}
