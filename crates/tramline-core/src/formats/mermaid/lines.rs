//! Lines and columns of byte positions, cheap to ask for even in a file that is one long line.

use crate::flaw::Place;
use std::ops::Range;

/// Characters are counted once per so many bytes; the rest is counted when asked.
const BLOCK_BYTES: usize = 512;

/// Where the lines of a text begin, and how many characters come before.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    blocks: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// The lines of a text.
    pub(crate) fn of(text: &'t str) -> Self {
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

    /// The line and column, from 1, of a byte.
    pub(crate) fn at(&self, byte: usize) -> (usize, usize) {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts[line - 1];
        (line, self.before(byte) - self.before(start) + 1)
    }

    /// How many characters come before a byte.
    fn before(&self, byte: usize) -> usize {
        let block = byte / BLOCK_BYTES;
        let counted = match self.blocks.get(block) {
            Some(counted) => *counted,
            None => return characters(self.text.as_bytes()),
        };
        counted + characters(&self.text.as_bytes()[block * BLOCK_BYTES..byte])
    }

    /// The place of some bytes; of a single character where they are none.
    pub(crate) fn place(&self, bytes: Range<usize>) -> Place {
        let (line, column) = self.at(bytes.start);
        let (end_line, end_column) = match bytes.end > bytes.start {
            true => self.at(bytes.end),
            false => (line, column + 1),
        };
        Place {
            line,
            column,
            end_line,
            end_column,
            pointer: String::new(),
        }
    }
}

/// How many characters begin in these bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "aé\r\nb\n\nlast";
        let lines = Lines::of(text);
        let find = |piece: &str| lines.at(text.find(piece).unwrap());
        assert_eq!(lines.at(0), (1, 1));
        assert_eq!(find("é"), (1, 2));
        assert_eq!(find("b"), (2, 1));
        assert_eq!(find("last"), (4, 1));
        assert_eq!(lines.at(text.len()), (4, 5));
        assert_eq!(Lines::of("").at(5), (1, 1));
    }

    #[test]
    fn a_long_line_is_counted_in_blocks() {
        let text = "é".repeat(10_000);
        assert_eq!(Lines::of(&text).at(2 * 9_000), (1, 9_001));
        assert_eq!(Lines::of(&text).at(text.len()), (1, 10_001));
    }
}
