//! Maps positions inside a string value to positions in the YAML source.
//!
//! Quotes, escapes, folding and indentation make a value differ from its source, so the source is parsed
//! again and the origin of each character recorded. The result is compared with the parser's value; if
//! they differ, no position is returned.

use super::document::YamlStyle;
use std::ops::Range;

mod block;
mod flow;

/// The source position of each character of a string value.
#[derive(Debug)]
pub struct ScalarLayout {
    characters: Vec<MappedChar>,
    /// The length of the value without trailing whitespace, in bytes.
    trimmed: usize,
    /// The byte offset in the file after the last non-whitespace character.
    end: usize,
}

/// A character: its offset in the value, and its byte range in the file.
#[derive(Clone, Copy, Debug)]
struct MappedChar {
    value: usize,
    source: usize,
    source_end: usize,
}

impl ScalarLayout {
    /// Computes the layout of a value from its style and its byte range in the text.
    pub fn of(text: &str, written: Range<usize>, style: YamlStyle, value: &str) -> Option<Self> {
        match style {
            YamlStyle::Plain | YamlStyle::Single | YamlStyle::Double => {
                flow::read(text, written, style).layout(value)
            }
            YamlStyle::Literal | YamlStyle::Folded => block::read(text, &written, style, value)
                .and_then(|reading| reading.layout(value))
                .or_else(|| {
                    // If a tag or an anchor precedes it, the block starts after its header.
                    let begin = block::after_header(text, &written)?;
                    let written = begin..written.end;
                    block::read(text, &written, style, value)?.layout(value)
                }),
            YamlStyle::Sequence | YamlStyle::Mapping => None,
        }
    }

    /// The file offset of the character at this offset of the value. Trailing whitespace maps to the
    /// position after the last visible character.
    pub fn start(&self, byte: usize) -> usize {
        if byte >= self.trimmed {
            return self.end;
        }
        self.char_at(byte).map_or(self.end, |found| found.source)
    }

    /// The file offset after the character that ends before this offset of the value.
    pub fn end(&self, byte: usize) -> usize {
        if byte > self.trimmed {
            return self.end;
        }
        self.char_at(byte.saturating_sub(1))
            .map_or(self.end, |found| found.source_end)
    }

    fn char_at(&self, byte: usize) -> Option<&MappedChar> {
        let after = self
            .characters
            .partition_point(|character| character.value <= byte);
        self.characters.get(after.checked_sub(1)?)
    }
}

/// A value parsed again, with the source of each character.
#[derive(Debug, Default)]
struct MappedScalar {
    value: String,
    characters: Vec<MappedChar>,
}

impl MappedScalar {
    fn push(&mut self, c: char, source: Range<usize>) {
        self.characters.push(MappedChar {
            value: self.value.len(),
            source: source.start,
            source_end: source.end,
        });
        self.value.push(c);
    }

    /// Compares the values without trailing line breaks, which depend on chomping.
    fn layout(self, value: &str) -> Option<ScalarLayout> {
        let breaks = |text: &str| text.trim_end_matches('\n').len();
        if self.value[..breaks(&self.value)] != value[..breaks(value)] {
            return None;
        }
        let trimmed = value.trim_end().len();
        let visible = self
            .characters
            .iter()
            .rfind(|character| character.value < trimmed);
        let end = visible.or(self.characters.first())?.source_end;
        Some(ScalarLayout {
            characters: self.characters,
            trimmed,
            end,
        })
    }
}

/// Reads a source text character by character.
#[derive(Clone)]
struct ScalarCursor<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> ScalarCursor<'t> {
    fn new(text: &'t str, written: Range<usize>) -> Self {
        Self {
            text,
            at: written.start,
            end: written.end.min(text.len()),
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip(&mut self, unwanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&unwanted) {
            self.step();
        }
    }

    /// Skips one line break: `\n`, `\r\n` or `\r`.
    fn skip_line_break(&mut self) -> bool {
        match self.peek() {
            Some('\r') => {
                self.step();
                if self.peek() == Some('\n') {
                    self.step();
                }
                true
            }
            Some('\n') => {
                self.step();
                true
            }
            Some(_) | None => false,
        }
    }

    /// Skips anchors, tags, and the whitespace and comments after them.
    fn skip_properties(&mut self) {
        while matches!(self.peek(), Some('&' | '!')) {
            self.skip(|c| !c.is_ascii_whitespace());
            loop {
                self.skip(|c| c.is_ascii_whitespace());
                if self.peek() != Some('#') {
                    break;
                }
                self.skip(|c| !is_break(c));
            }
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

#[cfg(test)]
mod tests;
