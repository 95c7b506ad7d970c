//! A server's last words: the end of what it wrote to stderr, kept within a bound.

use super::Redact;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tramline_core::Value;

/// Kept of one server's stderr: enough for a stack trace.
const TAIL_BYTES: usize = 16 * 1024;

/// Lines put into a failure; what matters stands at the end.
const TAIL_LINES: usize = 20;

/// A line longer than this is cut in a failure.
const LINE_CHARS_MAX: usize = 500;

/// Read at once.
const CHUNK_BYTES: usize = 8 * 1024;

/// How long to wait for the rest after the process has ended: its pipe may be held open by a
/// child of its own.
const DRAIN_MAX: Duration = Duration::from_millis(200);

/// Reads a stream to its end and remembers the last of it.
pub(super) struct Stderr {
    tail: Arc<Mutex<VecDeque<u8>>>,
    reader: Option<JoinHandle<()>>,
    redact: Redact,
}

/// What was read so far, for whoever looks while the server lives.
#[derive(Clone)]
pub(super) struct Tail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    redact: Redact,
}

impl Tail {
    /// The last whole lines: a secret in two halves is not known again.
    pub(super) fn lines(&self) -> Vec<String> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes: Vec<u8> = tail.iter().copied().collect();
        drop(tail);
        let end = bytes.iter().rposition(|&byte| byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        let lines = lines(bytes, &self.redact).into_iter();
        lines
            .filter_map(|line| line.as_str().map(str::to_owned))
            .collect()
    }
}

impl Stderr {
    /// What was read so far.
    pub(super) fn tail(&self) -> Tail {
        Tail {
            tail: Arc::clone(&self.tail),
            redact: Arc::clone(&self.redact),
        }
    }

    pub(super) fn read(
        mut stream: impl AsyncRead + Send + Unpin + 'static,
        server: &str,
        redact: Redact,
    ) -> Self {
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&tail);
        let server = server.to_owned();
        let clean = Arc::clone(&redact);
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; CHUNK_BYTES];
            let mut line = Vec::new();
            while let Ok(bytes @ 1..) = stream.read(&mut chunk).await {
                keep(&kept, &chunk[..bytes]);
                for part in chunk[..bytes].split_inclusive(|&byte| byte == b'\n') {
                    line.extend_from_slice(part);
                    // Whole lines only: a secret in two halves is not known again.
                    if part.ends_with(b"\n") {
                        log(&server, &line, &clean);
                        line.clear();
                    }
                }
                if line.len() > TAIL_BYTES {
                    line.clear();
                }
            }
            log(&server, &line, &clean);
        });
        Self {
            tail,
            reader: Some(reader),
            redact,
        }
    }

    /// The last lines, after a moment for what is still in the pipe.
    pub(super) async fn last_words(&mut self) -> Vec<Value> {
        if let Some(reader) = self.reader.take() {
            let _ = tokio::time::timeout(DRAIN_MAX, reader).await;
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        lines(tail.iter().copied().collect(), &self.redact)
    }
}

fn keep(tail: &Mutex<VecDeque<u8>>, bytes: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.extend(bytes);
    let over = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..over);
}

fn log(server: &str, line: &[u8], redact: &Redact) {
    if tracing::enabled!(tracing::Level::DEBUG) && !line.is_empty() {
        let said = redact(&String::from_utf8_lossy(line));
        tracing::debug!(server, stderr = %said.trim_end());
    }
}

fn lines(bytes: Vec<u8>, redact: &Redact) -> Vec<Value> {
    // The first line of a full tail has lost its beginning, perhaps half of a secret.
    let whole = match bytes.iter().position(|&byte| byte == b'\n') {
        Some(end) if bytes.len() >= TAIL_BYTES => &bytes[end..],
        Some(_) | None => &bytes[..],
    };
    let text = redact(&String::from_utf8_lossy(whole));
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..]
        .iter()
        .map(|line| line.chars().take(LINE_CHARS_MAX).collect::<String>().into())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_the_last_lines_only() {
        let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
        let mut stderr = Stderr::read(std::io::Cursor::new(text), "test", Arc::new(str::to_owned));
        let words = stderr.last_words().await;
        assert_eq!(words.len(), TAIL_LINES);
        assert_eq!(words.last().unwrap().as_str(), Some("line 99999"));
        assert!(stderr.tail.lock().unwrap().len() <= TAIL_BYTES);
    }

    #[tokio::test]
    async fn secrets_are_taken_out_before_lines_are_cut() {
        let text = format!("{} SECRET\n", "x".repeat(LINE_CHARS_MAX - 4));
        let redact: Redact = Arc::new(|text| text.replace("SECRET", "[redacted]"));
        let mut stderr = Stderr::read(std::io::Cursor::new(text), "test", redact);
        let words = stderr.last_words().await;
        assert!(words[0].as_str().unwrap().ends_with("x [re"), "{words:?}");
    }
}
