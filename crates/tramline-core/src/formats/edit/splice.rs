//! A text that is changed piece by piece and remembers which of it was there before.

use super::Change;

/// A text as pieces of the old one and new ones between them. All places are in characters.
#[derive(Clone)]
pub(super) struct Spliced {
    old: Vec<char>,
    pieces: Vec<Piece>,
}

#[derive(Clone)]
enum Piece {
    Old { from: usize, to: usize },
    New(Vec<char>),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Old { from, to } => to - from,
            Self::New(text) => text.len(),
        }
    }

    /// The part of it between two places.
    fn cut(&self, from: usize, to: usize) -> Option<Self> {
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

impl Spliced {
    pub(super) fn new(text: &str) -> Self {
        let old: Vec<char> = text.chars().collect();
        let to = old.len();
        Self {
            old,
            pieces: vec![Piece::Old { from: 0, to }],
        }
    }

    /// The text as it is now.
    pub(super) fn text(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Old { from, to } => self.old[*from..*to].iter().collect::<String>(),
            Piece::New(text) => text.iter().collect(),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Puts a text in the place of a stretch of what is there now.
    pub(super) fn splice(&mut self, change: &Change) {
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        let mut inserted = Some(change.insert.chars().collect::<Vec<_>>());
        let mut at = 0;
        for piece in &self.pieces {
            let end = at + piece.len();
            let before = change.from.clamp(at, end) - at;
            let after = change.to.clamp(at, end) - at;
            pieces.extend(piece.cut(0, before));
            if change.from <= end
                && let Some(text) = inserted.take_if(|_| change.from >= at)
            {
                pieces.push(Piece::New(text));
            }
            pieces.extend(piece.cut(after.max(before), piece.len()));
            at = end;
        }
        pieces.retain(|piece| piece.len() > 0);
        pieces.extend(inserted.map(Piece::New));
        self.pieces = pieces;
    }

    /// What has changed, in places of the old text.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let (mut seen, mut new) = (0, String::new());
        let end = Piece::Old {
            from: self.old.len(),
            to: self.old.len(),
        };
        for piece in self.pieces.iter().chain([&end]) {
            match piece {
                Piece::New(text) => new.extend(text),
                Piece::Old { from, to } => {
                    if *from > seen || !new.is_empty() {
                        changes.push(Change {
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
    fn changes_are_told_in_places_of_the_old_text() {
        let mut text = Spliced::new("aä1 b2 c3");
        for (from, to, insert) in [(1, 3, "X"), (0, 0, "__"), (7, 8, ""), (3, 4, "YY")] {
            text.splice(&Change {
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
