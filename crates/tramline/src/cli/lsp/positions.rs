//! Positions in a text: the protocol counts UTF-16 units from 0, flaws count characters from 1.

use serde_json::{Value as Json, json};
use tramline_workflow::flaw::SourceSpan;

/// A position as the protocol counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) character: u64,
}

impl Position {
    pub(super) fn to_json(self) -> Json {
        json!({ "line": self.line, "character": self.character })
    }
}

pub(super) fn range(from: Position, to: Position) -> Json {
    json!({ "start": from.to_json(), "end": to.to_json() })
}

/// A line without its end; empty if there is none.
pub(super) fn line_at(text: &str, line: u64) -> &str {
    let at = usize::try_from(line).unwrap_or(usize::MAX);
    let line = text.split('\n').nth(at).unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// The byte offset in a line of a position in UTF-16 units.
pub(super) fn byte_in_line(line: &str, character: u64) -> usize {
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= character {
            return at;
        }
        units += c.len_utf16() as u64;
    }
    line.len()
}

/// The position of a byte offset in a line.
pub(super) fn in_line(text: &str, line: u64, byte: usize) -> Position {
    let before = line_at(text, line).get(..byte).unwrap_or_default();
    Position {
        line,
        character: before.encode_utf16().count() as u64,
    }
}

/// The position of a line and a column that count characters from 1.
fn of_column(text: &str, line: usize, column: usize) -> Position {
    let line = line.saturating_sub(1) as u64;
    let before = line_at(text, line).chars().take(column.saturating_sub(1));
    Position {
        line,
        character: before.map(|c| c.len_utf16() as u64).sum(),
    }
}

/// The range of a place in a document.
pub(super) fn range_of(text: &str, span: &SourceSpan) -> (Position, Position) {
    let from = of_column(text, span.line, span.column);
    let to = of_column(text, span.end_line, span.end_column);
    (from, to.max(from))
}

/// The position of a character, counted from the start of the text.
pub(super) fn of_char(text: &str, index: usize) -> Position {
    let (mut line, mut character) = (0, 0);
    for c in text.chars().take(index) {
        match c {
            '\n' => (line, character) = (line + 1, 0),
            c => character += c.len_utf16() as u64,
        }
    }
    Position { line, character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_utf16() {
        let text = "a\r\nb: 🦀 x\n";
        assert_eq!(line_at(text, 0), "a");
        assert_eq!(byte_in_line(line_at(text, 1), 5), 7);
        let place = of_column(text, 2, 5);
        assert_eq!((place.line, place.character), (1, 5));
        let place = of_char(text, 7);
        assert_eq!((place.line, place.character), (1, 5));
        assert_eq!(in_line(text, 1, 7).character, 5);
    }
}
