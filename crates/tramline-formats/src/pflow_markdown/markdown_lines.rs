//! Splits a markdown document into headings, prose, parameters and fenced blocks.
//!
//! Nothing is interpreted here; each part only knows its lines.

use std::ops::Range;
use tramline_syntax::document::{SourcePosition, SourceRange};

/// One line: its byte range without the line break, and the character offset of its start.
pub(super) struct MarkdownLine {
    pub(super) bytes: Range<usize>,
    index: u32,
}

/// A text split into lines.
pub(super) struct MarkdownLines<'t> {
    pub(super) text: &'t str,
    all: Vec<MarkdownLine>,
}

impl<'t> MarkdownLines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut all = Vec::new();
        let (mut start, mut index) = (0, 0_u32);
        while start < text.len() {
            let rest = &text[start..];
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let broken = match &rest[end..] {
                rest if rest.starts_with("\r\n") => 2,
                "" => 0,
                _ => 1,
            };
            let bytes = start..start + end;
            let characters = rest[..end + broken].chars().count() as u32;
            all.push(MarkdownLine { bytes, index });
            index += characters;
            start += end + broken;
        }
        Self { text, all }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, at: usize) -> &'t str {
        let bytes = self.all.get(at).map_or(0..0, |line| line.bytes.clone());
        self.text.get(bytes).unwrap_or_default()
    }

    /// The byte range of a range of lines.
    pub(super) fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        let at = |at: usize| self.all.get(at).map(|line| line.bytes.clone());
        let start = at(lines.start).map_or(self.text.len(), |bytes| bytes.start);
        let last = lines.end.checked_sub(1).and_then(at);
        let end = last.map_or(start, |bytes| bytes.end);
        start..end.max(start)
    }

    /// The position of a byte of a line.
    pub(super) fn position(&self, at: usize, byte: usize) -> SourcePosition {
        let line = self.get(at);
        let before = line.get(..byte).unwrap_or(line).chars().count() as u32;
        SourcePosition {
            index: self.all.get(at).map_or(0, |line| line.index) + before,
            line: at as u32 + 1,
            column: before + 1,
        }
    }

    /// The span of a byte range of a line.
    pub(super) fn span(&self, at: usize, bytes: Range<usize>) -> SourceRange {
        SourceRange {
            start: self.position(at, bytes.start),
            end: self.position(at, bytes.end),
        }
    }

    /// The span of a line without surrounding whitespace.
    pub(super) fn line_span(&self, at: usize) -> SourceRange {
        let line = self.get(at);
        let begin = line.len() - line.trim_start().len();
        self.span(at, begin..line.trim_end().len().max(begin))
    }

    /// The span of several whole lines.
    pub(super) fn lines_span(&self, lines: &Range<usize>) -> SourceRange {
        let last = lines.end.max(lines.start + 1) - 1;
        SourceRange {
            start: self.position(lines.start, 0),
            end: self.position(last, self.get(last).len()),
        }
    }
}

/// A heading: its level and the byte range of its text.
pub(super) fn heading(line: &str) -> Option<(usize, Range<usize>)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    if !(1..=3).contains(&level) || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let words = rest.trim();
    let begin = level + (rest.len() - rest.trim_start().len());
    Some((level, begin..begin + words.len()))
}

/// A code fence: its character, their count, and the text after it.
pub(super) fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let sign = line
        .chars()
        .next()
        .filter(|sign| matches!(sign, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == sign).count();
    (count >= 3).then(|| (sign, count, line[count..].trim()))
}

/// The indentation of a line. Tabs count, so that the YAML parser can report them.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The byte offset of a list item's content, after `- `.
pub(super) fn bullet(line: &str) -> Option<usize> {
    let begin = indent(line);
    let rest = line[begin..].strip_prefix('-')?;
    (rest.starts_with([' ', '\t']) && !rest.trim().is_empty()).then_some(begin + 2)
}

/// The column of the key, if a block scalar starts after this line.
pub(super) fn opens_block_scalar(line: &str) -> Option<usize> {
    let mut begin = indent(line);
    while let Some(rest) = line[begin..].strip_prefix("- ") {
        begin = line.len() - rest.trim_start().len();
    }
    let (_, value) = line[begin..].split_once(": ")?;
    let header = value.split(" #").next().unwrap_or_default().trim();
    let signs = header.strip_prefix(['|', '>'])?;
    let fits = |c: char| matches!(c, '+' | '-') || c.is_ascii_digit();
    signs.chars().all(fits).then_some(begin)
}
