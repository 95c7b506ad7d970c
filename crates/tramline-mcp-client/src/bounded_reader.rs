//! Limits the output of a child process: no line above the limit reaches the protocol, and a flood of output
//! that is not a message ends the stream.
//!
//! The library's reader silently drops a line that is too long, so its call waits until it times out. This
//! reader finds the id in the line and answers the call with an error at once.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// JSON-RPC error code that replaces an answer that is too long.
pub(super) const TOO_LONG_CODE: i32 = -32_099;

/// Maximum size of a message that the library parses (lists, handshakes, server requests), in bytes. The
/// library tries one shape after another on a copy that takes about twenty times as much memory; the longest
/// known lists are below a megabyte. Results of calls are parsed separately.
pub(super) const LIBRARY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes read from the child at once: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// An answer's id is expected within this many bytes of the start or the end of the line.
const EDGE_BYTES: usize = 256;

/// Bytes of consecutive output without a message that count as a flood: far more than a program that logs to
/// the wrong stream writes, and little enough to do no harm.
const NON_MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How many lines that are not messages are kept for the message of a failed start; the cause is usually at the end.
const STRAY_LINES_MAX: usize = 10;

/// A line that is too long may reach this multiple of the limit before the stream is closed.
const DROPPED_LINE_FACTOR_MAX: usize = 8;

/// Why a stream was closed, shared with the supervisor, which reports it.
#[derive(Clone, Default)]
pub(super) struct StreamFault(Arc<Mutex<Option<String>>>);

impl StreamFault {
    fn record(&self, says: String) -> io::Error {
        let fault = io::Error::other(says.clone());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(says);
        fault
    }

    /// The reason, if the stream was closed.
    pub(super) fn reason(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The last lines of output that were not messages, shared with whoever reports a failed start. Lines are kept whole or
/// not at all: redaction does not recognize half a secret.
#[derive(Clone, Default)]
pub(super) struct StrayLines(Arc<Mutex<VecDeque<String>>>);

impl StrayLines {
    fn add(&self, line: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == STRAY_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(line).trim_end().to_owned());
    }

    /// The lines so far, oldest first.
    pub(super) fn last(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

/// Passes lines through, except those that are too long.
pub(super) struct BoundedReader<R> {
    inner: R,
    line_bytes_max: usize,
    fault: StreamFault,
    stray: StrayLines,
    chunk: Box<[u8]>,
    from: usize,
    to: usize,
    /// Returned before anything else is read.
    injected: Vec<u8>,
    line: CurrentLine,
    non_message_bytes: usize,
    /// The error that ends the stream, after everything before it was returned.
    pending_error: Option<io::Error>,
}

/// The current line.
#[derive(Default)]
struct CurrentLine {
    bytes: usize,
    dropped: bool,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<R> BoundedReader<R> {
    pub(super) fn new(inner: R, line_bytes_max: usize) -> Self {
        Self {
            inner,
            line_bytes_max,
            fault: StreamFault::default(),
            stray: StrayLines::default(),
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            from: 0,
            to: 0,
            injected: Vec::new(),
            line: CurrentLine::default(),
            non_message_bytes: 0,
            pending_error: None,
        }
    }

    /// A handle that later reports why the stream was closed.
    pub(super) fn fault(&self) -> StreamFault {
        self.fault.clone()
    }

    /// A handle to the last lines that were not messages.
    pub(super) fn stray_lines(&self) -> StrayLines {
        self.stray.clone()
    }

    /// Processes the next part of the chunk, up to the end of a line, and passes through what is within the
    /// limit.
    fn pass_next_part(&mut self, buf: &mut ReadBuf<'_>) {
        let rest = &self.chunk[self.from..self.to];
        let end = memchr::memchr(b'\n', rest);
        let part = end.map_or(rest.len(), |at| at + 1);
        if self.line.dropped {
            self.line.append(&self.chunk[self.from..self.from + part]);
            self.from += part;
            return self.finish_dropped(end.is_some());
        }
        if self.line.bytes + part > self.line_bytes_max {
            self.line.dropped = true;
            // Ends the part that was already passed through; the incomplete message is skipped as unreadable.
            self.injected.push(b'\n');
            return;
        }
        let fits = part.min(buf.remaining());
        let piece = &self.chunk[self.from..self.from + fits];
        buf.put_slice(piece);
        self.line.append(piece);
        self.from += fits;
        if end.is_some() && fits == part {
            self.finish_line();
        }
    }

    fn finish_dropped(&mut self, ended: bool) {
        if self.line.bytes > self.line_bytes_max.saturating_mul(DROPPED_LINE_FACTOR_MAX) {
            let says = format!("it sent a line of more than {} bytes", self.line.bytes);
            self.pending_error = Some(self.fault.record(says));
        }
        if !ended {
            return;
        }
        let bytes = self.line.bytes;
        let too_long = format!(
            "a message of {bytes} bytes is over the limit of {} bytes",
            self.line_bytes_max
        );
        if let Some(id) = self.line.answer_id() {
            let error = serde_json::json!({
                "jsonrpc": "2.0",
                "id": id,
                "error": {"code": TOO_LONG_CODE, "message": too_long},
            });
            self.injected
                .extend_from_slice(error.to_string().as_bytes());
            self.injected.push(b'\n');
        } else if self.line.is_message() && !self.line.head_contains(b"\"method\"") {
            self.pending_error = Some(self.fault.record(format!("it sent {too_long}")));
        }
        self.finish_line();
    }

    fn finish_line(&mut self) {
        if self.line.is_message() {
            self.non_message_bytes = 0;
        } else {
            self.non_message_bytes += self.line.bytes;
            if self.line.bytes <= EDGE_BYTES && !self.line.head.trim_ascii().is_empty() {
                self.stray.add(&self.line.head);
            }
        }
        self.line.clear();
        if self.non_message_bytes > NON_MESSAGE_BYTES_MAX {
            let says = "it flooded its standard output with text that is not a message".to_owned();
            self.pending_error = Some(self.fault.record(says));
        }
    }
}

impl CurrentLine {
    fn append(&mut self, piece: &[u8]) {
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

    fn head_contains(&self, word: &[u8]) -> bool {
        memchr::memmem::find(&self.head, word).is_some()
    }

    /// The id of the answer, if it is among the first keys or the last one. Elsewhere it might be part of the
    /// tool's output.
    fn answer_id(&self) -> Option<u64> {
        id_at_start(&self.head).or_else(|| id_at_end(&self.tail))
    }
}

fn id_at_start(head: &[u8]) -> Option<u64> {
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

fn id_at_end(tail: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(tail);
    let rest = text.trim_end().strip_suffix('}')?.trim_end();
    let before = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let id = rest.strip_prefix(before)?;
    let before = before.trim_end().strip_suffix(':')?.trim_end();
    before.ends_with("\"id\"").then_some(())?;
    id.parse().ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        while buf.filled().len() == before {
            if !this.injected.is_empty() {
                let fits = this.injected.len().min(buf.remaining());
                buf.put_slice(&this.injected[..fits]);
                this.injected.drain(..fits);
                break;
            }
            if let Some(fault) = this.pending_error.take() {
                return Poll::Ready(Err(fault));
            }
            if this.from == this.to {
                let mut chunk = ReadBuf::new(&mut this.chunk);
                ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
                (this.from, this.to) = (0, chunk.filled().len());
                if this.to == 0 {
                    // The last line of a program that is no server may have no end.
                    this.finish_line();
                    break;
                }
            }
            this.pass_next_part(buf);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn through(input: &[u8], max: usize) -> (String, Option<String>) {
        let mut lines = BoundedReader::new(input, max);
        let fault = lines.fault();
        let mut out = Vec::new();
        let _ = lines.read_to_end(&mut out).await;
        (String::from_utf8(out).unwrap(), fault.reason())
    }

    #[tokio::test]
    async fn short_lines_pass_as_they_are() {
        let input = b"{\"a\":1}\nlog line\n\n{\"b\":2}\npartial";
        let (out, fault) = through(input, 100).await;
        assert_eq!(out.as_bytes(), input);
        assert_eq!(fault, None);
    }

    #[tokio::test]
    async fn output_that_is_no_message_is_kept() {
        let long = "x".repeat(EDGE_BYTES);
        let many: String = (0..20).map(|line| format!("line {line}\n")).collect();
        let input = format!("{many}{{\"a\":1}}\n\n{long}\nusage: x\r\nlast");
        let mut lines = BoundedReader::new(input.as_bytes(), 1000);
        let stray = lines.stray_lines();
        lines.read_to_end(&mut Vec::new()).await.unwrap();
        let kept = stray.last();
        assert_eq!(kept.len(), STRAY_LINES_MAX);
        assert_eq!(kept[STRAY_LINES_MAX - 2..], ["usage: x", "last"]);
        assert_eq!(kept[0], "line 12");
    }

    #[test]
    fn an_id_at_the_end_is_read_after_any_bytes() {
        assert_eq!(id_at_end(br#"text","id": 17 }"#), Some(17));
        for tail in [
            &b"\xff\xff}"[..],
            "é12}".as_bytes(),
            "\"id\":é}".as_bytes(),
            b"12}",
            b"}",
            b"",
        ] {
            assert_eq!(id_at_end(tail), None, "{tail:?}");
        }
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
        let rubbish = b"rubbish rubbish rubbish\n".repeat(NON_MESSAGE_BYTES_MAX / 20);
        let (_, fault) = through(&rubbish, 1000).await;
        assert!(fault.unwrap().contains("flooded"));
    }
}
