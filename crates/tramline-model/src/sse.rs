//! Parses streamed answers: server-sent events, or one body from an endpoint that does not stream.

/// Largest answer, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 4 << 20;

/// The part of an answer received so far.
#[derive(Debug, Default)]
pub(crate) struct ResponseBuffer {
    /// The text.
    pub(crate) text: String,
    /// Input tokens, if they are reported separately.
    pub(crate) input_tokens: u64,
    /// Input and output tokens, if they are reported.
    pub(crate) tokens: Option<u64>,
    /// Whether the model reported the end of the answer.
    pub(crate) done: bool,
    /// Whether the answer ended at the token limit.
    pub(crate) truncated: bool,
    /// The error reported by the endpoint.
    pub(crate) error: Option<String>,
}

/// One server-sent event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its data, with lines joined.
    pub(crate) data: String,
}

/// Splits a byte stream into events.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    buffer: Vec<u8>,
    received: usize,
    /// Number of buffered bytes known to contain no end of an event.
    searched: usize,
}

impl SseParser {
    /// Adds bytes. Returns false if the answer exceeds the limit.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.received += bytes.len();
        self.buffer.extend_from_slice(bytes);
        self.received <= ANSWER_BYTES_MAX
    }

    /// The next complete event.
    pub(crate) fn next(&mut self) -> Option<SseEvent> {
        loop {
            // A separator may have begun in earlier bytes.
            let from = self.searched.saturating_sub(3);
            let Some((at, gap)) = event_end(&self.buffer[from..]) else {
                self.searched = self.buffer.len();
                return None;
            };
            let end = from + at;
            self.searched = 0;
            let rest = self.buffer.split_off(end + gap);
            let event = std::mem::replace(&mut self.buffer, rest);
            if let Some(piece) = parse_event(&event[..end]) {
                return Some(piece);
            }
        }
    }

    /// The rest after the stream has ended: an event without its blank line, or a whole body.
    pub(crate) fn last(self) -> Option<SseEvent> {
        if let Some(piece) = parse_event(&self.buffer) {
            return Some(piece);
        }
        let data = String::from_utf8_lossy(&self.buffer).trim().to_owned();
        (!data.is_empty()).then_some(SseEvent { data })
    }
}

/// The position and length of the separator after an event.
fn event_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let found = |gap: &[u8]| bytes.windows(gap.len()).position(|window| window == gap);
    let short = found(b"\n\n").map(|at| (at, 2));
    let long = found(b"\r\n\r\n").map(|at| (at, 4));
    match (short, long) {
        (Some(short), Some(long)) => Some(short.min(long)),
        (one, other) => one.or(other),
    }
}

/// The data of an event; `None` for comments and other fields.
fn parse_event(event: &[u8]) -> Option<SseEvent> {
    let text = String::from_utf8_lossy(event);
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let lines: Vec<_> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    (!lines.is_empty()).then(|| SseEvent {
        data: lines.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: &[&str]) -> Vec<String> {
        let mut events = SseParser::default();
        let mut seen = Vec::new();
        for part in parts {
            assert!(events.push(part.as_bytes()));
            while let Some(piece) = events.next() {
                seen.push(piece.data);
            }
        }
        seen.extend(events.last().map(|piece| piece.data));
        seen
    }

    #[test]
    fn events_are_found_wherever_they_are_cut() {
        let text = ": hello\n\nevent: x\ndata: one\ndata:two\n\ndata: three\r\n\r\ndata: four";
        let whole = ["one\ntwo", "three", "four"];
        assert_eq!(all(&[text]), whole);
        let letters: Vec<_> = text.split("").collect();
        assert_eq!(all(&letters), whole);
    }

    #[test]
    fn a_body_without_events_is_one() {
        assert_eq!(all(&["{\"a\":", "1}\n"]), ["{\"a\":1}"]);
        assert!(all(&["", "\n"]).is_empty());
    }

    #[test]
    fn an_answer_without_end_is_refused() {
        let mut events = SseParser::default();
        let part = vec![b'x'; 1 << 20];
        assert_eq!((0..5).filter(|_| events.push(&part)).count(), 4);
    }
}
