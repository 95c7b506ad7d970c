//! The lines of a markdown document, taken apart: headings, prose, parameters, fenced blocks.
//!
//! Nothing is understood here yet; every part only knows its lines.

use crate::formats::document::{Span, Spot};
use std::ops::Range;

/// One line: its bytes without the break, and how many characters come before it.
pub(super) struct Line {
    pub(super) bytes: Range<usize>,
    index: u32,
}

/// A text by lines.
pub(super) struct Lines<'t> {
    pub(super) text: &'t str,
    all: Vec<Line>,
}

impl<'t> Lines<'t> {
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
            all.push(Line { bytes, index });
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

    /// The bytes of the text from the first of some lines to the end of the last.
    pub(super) fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        let at = |at: usize| self.all.get(at).map(|line| line.bytes.clone());
        let start = at(lines.start).map_or(self.text.len(), |bytes| bytes.start);
        let last = lines.end.checked_sub(1).and_then(at);
        let end = last.map_or(start, |bytes| bytes.end);
        start..end.max(start)
    }

    /// The place of a byte of a line.
    pub(super) fn spot(&self, at: usize, byte: usize) -> Spot {
        let line = self.get(at);
        let before = line.get(..byte).unwrap_or(line).chars().count() as u32;
        Spot {
            index: self.all.get(at).map_or(0, |line| line.index) + before,
            line: at as u32 + 1,
            column: before + 1,
        }
    }

    /// The place of some bytes of a line.
    pub(super) fn span(&self, at: usize, bytes: Range<usize>) -> Span {
        Span {
            start: self.spot(at, bytes.start),
            end: self.spot(at, bytes.end),
        }
    }

    /// The place of a whole line, without the blanks around it.
    pub(super) fn whole(&self, at: usize) -> Span {
        let line = self.get(at);
        let begin = line.len() - line.trim_start().len();
        self.span(at, begin..line.trim_end().len().max(begin))
    }

    /// The place of several whole lines.
    pub(super) fn block(&self, lines: &Range<usize>) -> Span {
        let last = lines.end.max(lines.start + 1) - 1;
        Span {
            start: self.spot(lines.start, 0),
            end: self.spot(last, self.get(last).len()),
        }
    }
}

/// A heading: its level and the bytes of its words in its line.
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

/// What opens or may close a fenced block: its sign, how many of them, and what follows.
pub(super) fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let sign = line
        .chars()
        .next()
        .filter(|sign| matches!(sign, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == sign).count();
    (count >= 3).then(|| (sign, count, line[count..].trim()))
}

/// How many blanks a line begins with. Tabs count, so that YAML can complain of them.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Where the content of a list item begins: behind its `- `.
pub(super) fn bullet(line: &str) -> Option<usize> {
    let begin = indent(line);
    let rest = line[begin..].strip_prefix('-')?;
    (rest.starts_with([' ', '\t']) && !rest.trim().is_empty()).then_some(begin + 2)
}

/// The column of the key whose block text begins after this line, if one does.
pub(super) fn opens_text(line: &str) -> Option<usize> {
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
