//! A server's last words: the end of what it wrote to stderr, kept within a bound.

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
}

impl Stderr {
    pub(super) fn read(mut stream: impl AsyncRead + Send + Unpin + 'static, server: &str) -> Self {
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&tail);
        let server = server.to_owned();
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; CHUNK_BYTES];
            while let Ok(bytes @ 1..) = stream.read(&mut chunk).await {
                let said = String::from_utf8_lossy(&chunk[..bytes]);
                tracing::debug!(server, stderr = %said.trim_end());
                keep(&kept, &chunk[..bytes]);
            }
        });
        Self {
            tail,
            reader: Some(reader),
        }
    }

    /// The last lines, after a moment for what is still in the pipe.
    pub(super) async fn last_words(&mut self) -> Vec<Value> {
        if let Some(reader) = self.reader.take() {
            let _ = tokio::time::timeout(DRAIN_MAX, reader).await;
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        lines(tail.iter().copied().collect())
    }
}

fn keep(tail: &Mutex<VecDeque<u8>>, bytes: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.extend(bytes);
    let over = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..over);
}

fn lines(bytes: Vec<u8>) -> Vec<Value> {
    let text = String::from_utf8_lossy(&bytes);
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
        let mut stderr = Stderr::read(std::io::Cursor::new(text), "test");
        let words = stderr.last_words().await;
        assert_eq!(words.len(), TAIL_LINES);
        assert_eq!(words.last().unwrap().as_str(), Some("line 99999"));
        assert!(stderr.tail.lock().unwrap().len() <= TAIL_BYTES);
    }
}
