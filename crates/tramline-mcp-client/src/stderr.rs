//! The tail of a server's stderr, within a size limit.

use super::RedactText;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tramline_expr::Value;

/// How much of a server's stderr is kept, in bytes: enough for a stack trace.
const TAIL_BYTES: usize = 16 * 1024;

/// Maximum number of stderr lines in a failure; the cause is usually at the end.
const TAIL_LINES: usize = 20;

/// Maximum length of a stderr line in a failure, in characters.
const LINE_CHARS_MAX: usize = 500;

/// Bytes read at once.
const CHUNK_BYTES: usize = 8 * 1024;

/// How long to wait for remaining output after the process exited: one of its children may hold the pipe open.
const DRAIN_MAX: Duration = Duration::from_millis(200);

/// Reads a stream to its end and keeps its tail.
pub(super) struct Stderr {
    tail: Arc<Mutex<VecDeque<u8>>>,
    reader: Option<JoinHandle<()>>,
    redact: RedactText,
}

/// The output read so far, for inspection while the server runs.
#[derive(Clone)]
pub(super) struct StderrTail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    redact: RedactText,
}

impl StderrTail {
    fn bytes(&self) -> Vec<u8> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.iter().copied().collect()
    }

    /// The last complete lines: redaction does not recognize half a secret.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let mut bytes = self.bytes();
        let end = bytes.iter().rposition(|&byte| byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        let lines = lines(bytes, &self.redact).into_iter();
        lines
            .filter_map(|line| line.as_str().map(str::to_owned))
            .collect()
    }
}

impl Stderr {
    /// The output read so far.
    pub(super) fn tail(&self) -> StderrTail {
        StderrTail {
            tail: Arc::clone(&self.tail),
            redact: self.redact.clone(),
        }
    }

    pub(super) fn read(
        mut stream: impl AsyncRead + Send + Unpin + 'static,
        server: &str,
        redact: RedactText,
    ) -> Self {
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&tail);
        let server = server.to_owned();
        let clean = redact.clone();
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; CHUNK_BYTES];
            let mut line = LogLine::default();
            while let Ok(bytes @ 1..) = stream.read(&mut chunk).await {
                append_bounded(&kept, &chunk[..bytes]);
                for part in chunk[..bytes].split_inclusive(|&byte| byte == b'\n') {
                    line.add(part);
                    // Complete lines only: redaction does not recognize half a secret.
                    if part.ends_with(b"\n") {
                        line.log(&server, &clean);
                    }
                }
            }
            line.log(&server, &clean);
        });
        Self {
            tail,
            reader: Some(reader),
            redact,
        }
    }

    /// The last lines, after a short wait for output still in the pipe.
    pub(super) async fn last_lines(&mut self) -> Vec<Value> {
        if let Some(reader) = &mut self.reader
            && tokio::time::timeout(DRAIN_MAX, reader).await.is_ok()
        {
            self.reader = None;
        }
        let tail = self.tail();
        match self.reader {
            None => lines(tail.bytes(), &self.redact),
            // A child still holds the pipe open and may be in the middle of a line.
            Some(_) => tail.last_lines().into_iter().map(Value::from).collect(),
        }
    }
}

fn append_bounded(tail: &Mutex<VecDeque<u8>>, bytes: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.extend(bytes);
    let over = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..over);
}

/// The line that is being read, for the log.
#[derive(Default)]
struct LogLine {
    bytes: Vec<u8>,
    /// It is too long, and is left out of the log as a whole: any part of it may begin or end in a secret.
    is_too_long: bool,
}

impl LogLine {
    fn add(&mut self, part: &[u8]) {
        self.is_too_long |= self.bytes.len() + part.len() > TAIL_BYTES;
        match self.is_too_long {
            true => self.bytes.clear(),
            false => self.bytes.extend_from_slice(part),
        }
    }

    fn log(&mut self, server: &str, redact: &RedactText) {
        let line = std::mem::take(self);
        if tracing::enabled!(tracing::Level::DEBUG) {
            if line.is_too_long {
                tracing::debug!(
                    server,
                    "left out a line of stderr longer than {TAIL_BYTES} bytes"
                );
            } else if !line.bytes.is_empty() {
                let said = redact.redact(&String::from_utf8_lossy(&line.bytes));
                tracing::debug!(server, stderr = %said.trim_end());
            }
        }
    }
}

fn lines(bytes: Vec<u8>, redact: &RedactText) -> Vec<Value> {
    // The first line of a full tail has lost its start and may contain half a secret.
    let whole = match bytes.iter().position(|&byte| byte == b'\n') {
        Some(end) if bytes.len() >= TAIL_BYTES => &bytes[end..],
        None if bytes.len() >= TAIL_BYTES => &[],
        Some(_) | None => &bytes[..],
    };
    let text = redact.redact(&String::from_utf8_lossy(whole));
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..]
        .iter()
        .map(|line| redact.excerpt(line, LINE_CHARS_MAX).into())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_the_last_lines_only() {
        let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
        let mut stderr = Stderr::read(std::io::Cursor::new(text), "test", RedactText::default());
        let words = stderr.last_lines().await;
        assert_eq!(words.len(), TAIL_LINES);
        assert_eq!(words.last().unwrap().as_str(), Some("line 99999"));
        assert!(stderr.tail.lock().unwrap().len() <= TAIL_BYTES);
    }

    #[tokio::test]
    async fn secrets_are_taken_out_before_lines_are_cut() {
        let text = format!("{} SECRET\n", "x".repeat(LINE_CHARS_MAX - 4));
        let redact = RedactText::new(|text| text.replace("SECRET", "[redacted]"));
        let mut stderr = Stderr::read(std::io::Cursor::new(text), "test", redact);
        let words = stderr.last_lines().await;
        assert!(words[0].as_str().unwrap().ends_with("x [re…"), "{words:?}");
    }

    #[tokio::test]
    async fn a_line_longer_than_the_tail_is_left_out() {
        let text = format!("SECRET{}", "x".repeat(TAIL_BYTES - 3));
        let redact = RedactText::new(|text| text.replace("SECRET", "[redacted]"));
        let mut stderr = Stderr::read(std::io::Cursor::new(text), "test", redact);
        assert_eq!(stderr.last_lines().await, Vec::<Value>::new());
    }

    #[test]
    fn the_rest_of_a_long_line_is_not_logged() {
        let mut line = LogLine::default();
        line.add(&vec![b'x'; TAIL_BYTES]);
        line.add(b"SEC");
        line.add(b"RET\n");
        assert!(line.is_too_long && line.bytes.is_empty());
        line.log("test", &RedactText::default());
        line.add(b"next\n");
        assert_eq!(
            (line.bytes.as_slice(), line.is_too_long),
            (&b"next\n"[..], false)
        );
    }
}
