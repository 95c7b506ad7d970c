//! Answers as they come: server-sent events, or one body from who does not stream.

/// The largest answer that is taken.
pub(crate) const ANSWER_BYTES_MAX: usize = 4 << 20;

/// What was heard of an answer so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The words.
    pub(crate) text: String,
    /// Tokens read, where they are told apart.
    pub(crate) read: u64,
    /// Tokens read and written, if they were told.
    pub(crate) tokens: Option<u64>,
    /// Whether the model said that it has ended.
    pub(crate) done: bool,
    /// Whether it ended because it may say no more.
    pub(crate) cut: bool,
    /// What the endpoint said went wrong.
    pub(crate) error: Option<String>,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its data, the lines joined.
    pub(crate) data: String,
}

/// Takes bytes as they come and gives whole events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    waiting: Vec<u8>,
    taken: usize,
    /// So much of what waits is known to hold no end of an event.
    searched: usize,
}

impl Events {
    /// Adds bytes. False when there are more of them than an answer may have.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.taken += bytes.len();
        self.waiting.extend_from_slice(bytes);
        self.taken <= ANSWER_BYTES_MAX
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        loop {
            // A gap may have begun in what came before.
            let from = self.searched.saturating_sub(3);
            let Some((at, gap)) = blank_line(&self.waiting[from..]) else {
                self.searched = self.waiting.len();
                return None;
            };
            let end = from + at;
            self.searched = 0;
            let rest = self.waiting.split_off(end + gap);
            let event = std::mem::replace(&mut self.waiting, rest);
            if let Some(piece) = read(&event[..end]) {
                return Some(piece);
            }
        }
    }

    /// What is left when the stream has ended: an event without its blank line, or a whole body.
    pub(crate) fn last(self) -> Option<Piece> {
        if let Some(piece) = read(&self.waiting) {
            return Some(piece);
        }
        let data = String::from_utf8_lossy(&self.waiting).trim().to_owned();
        (!data.is_empty()).then_some(Piece { data })
    }
}

/// Where an event ends, and how long the gap after it is.
fn blank_line(bytes: &[u8]) -> Option<(usize, usize)> {
    let found = |gap: &[u8]| bytes.windows(gap.len()).position(|window| window == gap);
    let short = found(b"\n\n").map(|at| (at, 2));
    let long = found(b"\r\n\r\n").map(|at| (at, 4));
    match (short, long) {
        (Some(short), Some(long)) => Some(short.min(long)),
        (one, other) => one.or(other),
    }
}

/// The data of an event; nothing for comments and other fields.
fn read(event: &[u8]) -> Option<Piece> {
    let text = String::from_utf8_lossy(event);
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let lines: Vec<_> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    (!lines.is_empty()).then(|| Piece {
        data: lines.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: &[&str]) -> Vec<String> {
        let mut events = Events::default();
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
        let mut events = Events::default();
        let part = vec![b'x'; 1 << 20];
        assert_eq!((0..5).filter(|_| events.push(&part)).count(), 4);
    }
}
