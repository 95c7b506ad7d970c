//! A bound on what a child may say: no line past the limit reaches the protocol, and no flood
//! of rubbish goes on for ever.
//!
//! The library's own reader drops a line that is too long without a word, so that its call waits
//! until it times out. Here the line's id is found, and the call gets an error at once.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// The code of the errors put in the place of answers that are too long.
pub(super) const TOO_LONG_CODE: i32 = -32_099;

/// The most bytes of a message that the library reads: lists, handshakes, requests of the server. It
/// tries one shape after the other on a copy that takes some twenty times as much in memory; the longest
/// lists known are below a megabyte. Results of calls are read otherwise.
pub(super) const LIBRARY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Read from the child at once. A pipe holds so much.
const CHUNK_BYTES: usize = 64 * 1024;

/// An answer's id stands within so many bytes of its start or its end.
const EDGE_BYTES: usize = 256;

/// So much that is no message, with no message between, is a flood: far above what a program
/// that logs to the wrong stream says, far below what hurts.
const RUBBISH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A line dropped for its length is followed for so many times the limit before its writer is
/// taken to be mad.
const DROPPED_LIMITS_MAX: usize = 8;

/// Why a stream was given up, for whoever asks why the connection ended.
#[derive(Clone, Default)]
pub(super) struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    fn set(&self, says: String) -> io::Error {
        let fault = io::Error::other(says.clone());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(says);
        fault
    }

    /// What was wrong, if anything was.
    pub(super) fn says(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Passes lines on, except those that are too long.
pub(super) struct BoundedLines<R> {
    inner: R,
    line_bytes_max: usize,
    fault: Fault,
    chunk: Box<[u8]>,
    from: usize,
    to: usize,
    /// Handed out before anything else is read.
    inject: Vec<u8>,
    line: Line,
    rubbish: usize,
    /// What ends the stream, once all that came before it is handed out.
    broken: Option<io::Error>,
}

/// The line that is passing.
#[derive(Default)]
struct Line {
    bytes: usize,
    dropped: bool,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<R> BoundedLines<R> {
    pub(super) fn new(inner: R, line_bytes_max: usize) -> Self {
        Self {
            inner,
            line_bytes_max,
            fault: Fault::default(),
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            from: 0,
            to: 0,
            inject: Vec::new(),
            line: Line::default(),
            rubbish: 0,
            broken: None,
        }
    }

    /// Where to ask later why the stream was given up.
    pub(super) fn fault(&self) -> Fault {
        self.fault.clone()
    }

    /// Looks at the next part of the chunk, up to a line's end, and hands out what may pass.
    fn pass(&mut self, buf: &mut ReadBuf<'_>) {
        let rest = &self.chunk[self.from..self.to];
        let end = memchr::memchr(b'\n', rest);
        let part = end.map_or(rest.len(), |at| at + 1);
        if self.line.dropped {
            self.line.note(&self.chunk[self.from..self.from + part]);
            self.from += part;
            return self.after_dropped(end.is_some());
        }
        if self.line.bytes + part > self.line_bytes_max {
            self.line.dropped = true;
            // Ends what has already been handed out; half a message is skipped as unreadable.
            self.inject.push(b'\n');
            return;
        }
        let fits = part.min(buf.remaining());
        let piece = &self.chunk[self.from..self.from + fits];
        buf.put_slice(piece);
        self.line.note(piece);
        self.from += fits;
        if end.is_some() && fits == part {
            self.finish_line();
        }
    }

    fn after_dropped(&mut self, ended: bool) {
        if self.line.bytes > self.line_bytes_max.saturating_mul(DROPPED_LIMITS_MAX) {
            let says = format!("it sent a line of more than {} bytes", self.line.bytes);
            self.broken = Some(self.fault.set(says));
        }
        if !ended {
            return;
        }
        let bytes = self.line.bytes;
        let too_long = format!(
            "a message of {bytes} bytes is over the limit of {} bytes",
            self.line_bytes_max
        );
        if let Some(id) = self.line.id() {
            let error = serde_json::json!({
                "jsonrpc": "2.0",
                "id": id,
                "error": {"code": TOO_LONG_CODE, "message": too_long},
            });
            self.inject.extend_from_slice(error.to_string().as_bytes());
            self.inject.push(b'\n');
        } else if self.line.is_message() && !self.line.has(b"\"method\"") {
            self.broken = Some(self.fault.set(format!("it sent {too_long}")));
        }
        self.finish_line();
    }

    fn finish_line(&mut self) {
        if self.line.is_message() {
            self.rubbish = 0;
        } else {
            self.rubbish += self.line.bytes;
        }
        self.line.clear();
        if self.rubbish > RUBBISH_BYTES_MAX {
            let says = "it flooded its standard output with text that is no message".to_owned();
            self.broken = Some(self.fault.set(says));
        }
    }
}

impl Line {
    fn note(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        let room = EDGE_BYTES.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..room]);
        if self.dropped {
            let last = &piece[piece.len().saturating_sub(EDGE_BYTES)..];
            let keep = EDGE_BYTES.saturating_sub(last.len()).min(self.tail.len());
            self.tail.drain(..self.tail.len() - keep);
            self.tail.extend_from_slice(last);
        }
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.dropped = false;
        self.head.clear();
        self.tail.clear();
    }

    fn is_message(&self) -> bool {
        self.head.trim_ascii_start().first() == Some(&b'{')
    }

    fn has(&self, word: &[u8]) -> bool {
        memchr::memmem::find(&self.head, word).is_some()
    }

    /// The id of the answer: among the first keys, or the very last one. Anywhere else it might
    /// be part of what the tool said.
    fn id(&self) -> Option<u64> {
        first_id(&self.head).or_else(|| last_id(&self.tail))
    }
}

fn first_id(head: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(head);
    let rest = text.trim_start().strip_prefix('{')?.trim_start();
    let rest = match rest.strip_prefix("\"jsonrpc\"") {
        Some(rest) => {
            let rest = rest.trim_start().strip_prefix(':')?.trim_start();
            let rest = rest.strip_prefix("\"2.0\"")?.trim_start();
            rest.strip_prefix(',')?.trim_start()
        }
        None => rest,
    };
    let rest = rest.strip_prefix("\"id\"")?.trim_start();
    let rest = rest.strip_prefix(':')?.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..digits].parse().ok()
}

fn last_id(tail: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(tail);
    let rest = text.trim_end().strip_suffix('}')?.trim_end();
    let digits = rest.rfind(|c: char| !c.is_ascii_digit())? + 1;
    let before = rest[..digits].trim_end().strip_suffix(':')?.trim_end();
    before.ends_with("\"id\"").then_some(())?;
    rest[digits..].parse().ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        while buf.filled().len() == before {
            if !this.inject.is_empty() {
                let fits = this.inject.len().min(buf.remaining());
                buf.put_slice(&this.inject[..fits]);
                this.inject.drain(..fits);
                break;
            }
            if let Some(fault) = this.broken.take() {
                return Poll::Ready(Err(fault));
            }
            if this.from == this.to {
                let mut chunk = ReadBuf::new(&mut this.chunk);
                ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
                (this.from, this.to) = (0, chunk.filled().len());
                if this.to == 0 {
                    break;
                }
            }
            this.pass(buf);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn through(input: &[u8], max: usize) -> (String, Option<String>) {
        let mut lines = BoundedLines::new(input, max);
        let fault = lines.fault();
        let mut out = Vec::new();
        let _ = lines.read_to_end(&mut out).await;
        (String::from_utf8(out).unwrap(), fault.says())
    }

    #[tokio::test]
    async fn short_lines_pass_as_they_are() {
        let input = b"{\"a\":1}\nlog line\n\n{\"b\":2}\npartial";
        let (out, fault) = through(input, 100).await;
        assert_eq!(out.as_bytes(), input);
        assert_eq!(fault, None);
    }

    #[tokio::test]
    async fn a_long_answer_becomes_an_error_for_its_call() {
        let long = "x".repeat(300_000);
        for line in [
            format!(r#"{{"jsonrpc":"2.0","id":17,"result":"{long}"}}"#),
            format!(r#"{{ "id" : 17, "result":"{long}"}}"#),
            format!(r#"{{"result":{{"id":3,"t":"{long}"}},"jsonrpc":"2.0","id":17}}"#),
        ] {
            let (out, fault) = through(format!("{line}\n{{\"b\":2}}\n").as_bytes(), 100_000).await;
            let lines: Vec<_> = out.lines().filter(|line| !line.is_empty()).collect();
            let error: serde_json::Value = serde_json::from_str(lines[lines.len() - 2]).unwrap();
            assert_eq!(
                (&error["id"], &error["error"]["code"]),
                (&17.into(), &TOO_LONG_CODE.into())
            );
            assert_eq!(*lines.last().unwrap(), r#"{"b":2}"#);
            assert_eq!(fault, None);
        }
    }

    #[tokio::test]
    async fn a_long_answer_to_nobody_ends_the_stream() {
        let long = "x".repeat(3000);
        let line = format!(r#"{{"result":{{"id":3,"t":"{long}"}},"id":"17"}}{}"#, "\n");
        let (_, fault) = through(line.as_bytes(), 1000).await;
        assert!(fault.unwrap().contains("over the limit"));
        let notice = format!(r#"{{"method":"m","params":"{long}"}}{}{{}}{}"#, "\n", "\n");
        let (out, fault) = through(notice.as_bytes(), 1000).await;
        assert!(out.ends_with("{}\n") && fault.is_none());
    }

    #[tokio::test]
    async fn floods_end_the_stream() {
        let (_, fault) = through(&b"x".repeat(10_000), 1000).await;
        assert!(fault.unwrap().contains("more than"));
        let rubbish = b"rubbish rubbish rubbish\n".repeat(RUBBISH_BYTES_MAX / 20);
        let (_, fault) = through(&rubbish, 1000).await;
        assert!(fault.unwrap().contains("flooded"));
    }
}
