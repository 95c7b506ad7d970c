//! Reads a part of a long text: a range in bytes, widened to whole characters.

/// Longest part that one read returns, in bytes: a client holds it in memory, and often in a prompt.
pub(super) const READ_BYTES_MAX: usize = 1 << 20;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextRange<'t> {
    /// The part.
    pub(super) text: &'t str,
    /// Where it begins, in bytes.
    pub(super) offset: usize,
    /// Where the next part begins, if there is one.
    pub(super) next: Option<usize>,
    /// The size of the whole text.
    pub(super) total: usize,
}

/// The part of a text from an offset on. A character that the range cuts is returned as a whole.
pub(super) fn range(text: &str, offset: usize, length: usize) -> TextRange<'_> {
    let total = text.len();
    let begin = text.floor_char_boundary(offset.min(total));
    let end = begin
        .saturating_add(length.clamp(1, READ_BYTES_MAX))
        .min(total);
    let end = text.ceil_char_boundary(end);
    TextRange {
        text: &text[begin..end],
        offset: begin,
        next: (end < total).then_some(end),
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_characters_and_add_up() {
        let text = "aä€😀".repeat(5);
        for length in 1..9 {
            let (mut whole, mut at) = (String::new(), Some(0));
            while let Some(offset) = at {
                let part = range(&text, offset, length);
                assert!(!part.text.is_empty() && part.total == text.len());
                whole.push_str(part.text);
                at = part.next;
            }
            assert_eq!(whole, text);
        }
        assert_eq!(range("ab", 9, 1).text, "");
    }
}
