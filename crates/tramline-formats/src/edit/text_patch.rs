//! A text edited piece by piece that keeps track of the original parts.

use super::TextChange;

/// A text as a sequence of original and new pieces. All offsets are in characters.
#[derive(Clone)]
pub(super) struct PatchedText {
    old: Vec<char>,
    pieces: Vec<PatchPiece>,
}

#[derive(Clone)]
enum PatchPiece {
    Old { from: usize, to: usize },
    New(Vec<char>),
}

impl PatchPiece {
    fn len(&self) -> usize {
        match self {
            Self::Old { from, to } => to - from,
            Self::New(text) => text.len(),
        }
    }

    /// A part of the piece.
    fn slice(&self, from: usize, to: usize) -> Option<Self> {
        if from >= to {
            return None;
        }
        Some(match self {
            Self::Old { from: start, .. } => Self::Old {
                from: start + from,
                to: start + to,
            },
            Self::New(text) => Self::New(text[from..to].to_vec()),
        })
    }
}

impl PatchedText {
    pub(super) fn new(text: &str) -> Self {
        let old: Vec<char> = text.chars().collect();
        let to = old.len();
        Self {
            old,
            pieces: vec![PatchPiece::Old { from: 0, to }],
        }
    }

    /// The current text.
    pub(super) fn text(&self) -> String {
        let piece = |piece: &PatchPiece| match piece {
            PatchPiece::Old { from, to } => self.old[*from..*to].iter().collect::<String>(),
            PatchPiece::New(text) => text.iter().collect(),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Replaces a range of the current text.
    pub(super) fn splice(&mut self, change: &TextChange) {
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        let mut inserted = Some(change.insert.chars().collect::<Vec<_>>());
        let mut at = 0;
        for piece in &self.pieces {
            let end = at + piece.len();
            let before = change.from.clamp(at, end) - at;
            let after = change.to.clamp(at, end) - at;
            pieces.extend(piece.slice(0, before));
            if change.from <= end
                && let Some(text) = inserted.take_if(|_| change.from >= at)
            {
                pieces.push(PatchPiece::New(text));
            }
            pieces.extend(piece.slice(after.max(before), piece.len()));
            at = end;
        }
        pieces.retain(|piece| piece.len() > 0);
        pieces.extend(inserted.map(PatchPiece::New));
        self.pieces = pieces;
    }

    /// The changes in offsets of the original text.
    pub(super) fn changes(&self) -> Vec<TextChange> {
        let mut changes = Vec::new();
        let (mut seen, mut new) = (0, String::new());
        let end = PatchPiece::Old {
            from: self.old.len(),
            to: self.old.len(),
        };
        for piece in self.pieces.iter().chain([&end]) {
            match piece {
                PatchPiece::New(text) => new.extend(text),
                PatchPiece::Old { from, to } => {
                    if *from > seen || !new.is_empty() {
                        changes.push(TextChange {
                            from: seen,
                            to: *from,
                            insert: std::mem::take(&mut new),
                        });
                    }
                    seen = *to;
                }
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_offsets_of_the_old_text() {
        let mut text = PatchedText::new("aä1 b2 c3");
        for (from, to, insert) in [(1, 3, "X"), (0, 0, "__"), (7, 8, ""), (3, 4, "YY")] {
            text.splice(&TextChange {
                from,
                to,
                insert: insert.to_owned(),
            });
        }
        let now = text.text();
        assert_eq!(now, "__aYY b c3".replace("b c3", "b2c3"));
        let mut again: Vec<char> = "aä1 b2 c3".chars().collect();
        for change in text.changes().into_iter().rev() {
            again.splice(change.from..change.to, change.insert.chars());
        }
        assert_eq!(again.into_iter().collect::<String>(), now);
    }
}
