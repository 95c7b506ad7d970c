//! Lines and columns of byte offsets, fast even in a file with one very long line.

use std::ops::Range;
use tramline_workflow::flaw::SourceSpan;

/// Block size, in bytes, for which character counts are stored.
const BLOCK_BYTES: usize = 512;

/// Line starts and character counts of a text.
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
    blocks: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// The lines of a text.
    pub fn of(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let inside_crlf = *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
            if *byte == b'\n' || (*byte == b'\r' && !inside_crlf) {
                starts.push(at + 1);
            }
        }
        let mut count = 0;
        let blocks = bytes
            .chunks(BLOCK_BYTES)
            .map(|block| {
                let before = count;
                count += characters(block);
                before
            })
            .collect();
        Self {
            text,
            starts,
            blocks,
        }
    }

    /// The line and column, from 1, of a byte offset.
    pub fn line_and_column(&self, byte: usize) -> (usize, usize) {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts[line - 1];
        (line, self.chars_before(byte) - self.chars_before(start) + 1)
    }

    /// The byte offset of a line and column, from 1; the end of the text if there is no such line.
    pub fn byte_offset(&self, line: usize, column: usize) -> usize {
        let start = line.checked_sub(1).and_then(|line| self.starts.get(line));
        let Some(start) = start.copied() else {
            return self.text.len();
        };
        let rest = &self.text[start..];
        let inside = rest.char_indices().nth(column.saturating_sub(1));
        start + inside.map_or(rest.len(), |(at, _)| at)
    }

    /// The number of characters before a byte offset.
    fn chars_before(&self, byte: usize) -> usize {
        let block = byte / BLOCK_BYTES;
        let counted = match self.blocks.get(block) {
            Some(counted) => *counted,
            None => return characters(self.text.as_bytes()),
        };
        counted + characters(&self.text.as_bytes()[block * BLOCK_BYTES..byte])
    }

    /// The location of a byte range; of a single character if the range is empty.
    pub fn source_span(&self, bytes: Range<usize>) -> SourceSpan {
        let (line, column) = self.line_and_column(bytes.start);
        let (end_line, end_column) = match bytes.end > bytes.start {
            true => self.line_and_column(bytes.end),
            false => (line, column + 1),
        };
        SourceSpan {
            line,
            column,
            end_line,
            end_column,
            pointer: String::new(),
        }
    }
}

/// The number of characters that start in these bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}

#[cfg(test)]
mod tests {
    use super::LineIndex;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "aé\r\nb\n\nlast";
        let lines = LineIndex::of(text);
        let find = |piece: &str| lines.line_and_column(text.find(piece).unwrap());
        assert_eq!(lines.line_and_column(0), (1, 1));
        assert_eq!(find("é"), (1, 2));
        assert_eq!(find("b"), (2, 1));
        assert_eq!(find("last"), (4, 1));
        assert_eq!(lines.line_and_column(text.len()), (4, 5));
        assert_eq!(LineIndex::of("").line_and_column(5), (1, 1));
    }

    #[test]
    fn a_long_line_is_counted_in_blocks() {
        let text = "é".repeat(10_000);
        assert_eq!(LineIndex::of(&text).line_and_column(2 * 9_000), (1, 9_001));
        assert_eq!(
            LineIndex::of(&text).line_and_column(text.len()),
            (1, 10_001)
        );
    }
}
