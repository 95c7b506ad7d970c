//! Where a character of a text value stands in the file, however YAML had it written.
//!
//! Quotes, escapes, folding and indentation make a value differ from its source, so the source is
//! read once more, this time noting for each character where it came from. The outcome is compared
//! with the value the parser gave: on any difference there is no answer rather than a wrong one.

use super::document::Style;
use std::ops::Range;

mod block;
mod flow;

/// Where each character of a text value stands in the file.
#[derive(Debug)]
pub struct Layout {
    characters: Vec<Character>,
    /// How long the value is without the blanks at its end, in bytes.
    trimmed: usize,
    /// The byte of the file after the last character that is no blank.
    end: usize,
}

/// One character: where it begins in the value, and the bytes of the file it came from.
#[derive(Clone, Copy, Debug)]
struct Character {
    value: usize,
    source: usize,
    source_end: usize,
}

impl Layout {
    /// Finds the layout of a value that was written in some style at some bytes of the text.
    pub fn of(text: &str, written: Range<usize>, style: Style, value: &str) -> Option<Self> {
        match style {
            Style::Plain | Style::Single | Style::Double => {
                flow::read(text, written, style).layout(value)
            }
            Style::Literal | Style::Folded => block::read(text, &written, style, value)
                .and_then(|reading| reading.layout(value))
                .or_else(|| {
                    // A tag or an anchor before it: the block begins after its header.
                    let begin = block::after_header(text, &written)?;
                    let written = begin..written.end;
                    block::read(text, &written, style, value)?.layout(value)
                }),
            Style::Sequence | Style::Mapping => None,
        }
    }

    /// The byte of the file where the character at this byte of the value begins. Blanks at the
    /// end count as the place after the last visible character.
    pub fn start(&self, byte: usize) -> usize {
        if byte >= self.trimmed {
            return self.end;
        }
        self.holding(byte).map_or(self.end, |found| found.source)
    }

    /// The byte of the file after the character that ends before this byte of the value.
    pub fn end(&self, byte: usize) -> usize {
        if byte > self.trimmed {
            return self.end;
        }
        self.holding(byte.saturating_sub(1))
            .map_or(self.end, |found| found.source_end)
    }

    fn holding(&self, byte: usize) -> Option<&Character> {
        let after = self
            .characters
            .partition_point(|character| character.value <= byte);
        self.characters.get(after.checked_sub(1)?)
    }
}

/// A value read anew, with the source of each of its characters.
#[derive(Debug, Default)]
struct Reading {
    value: String,
    characters: Vec<Character>,
}

impl Reading {
    fn push(&mut self, c: char, source: Range<usize>) {
        self.characters.push(Character {
            value: self.value.len(),
            source: source.start,
            source_end: source.end,
        });
        self.value.push(c);
    }

    /// Line breaks at the end depend on chomping and matter to nobody: they are not compared.
    fn layout(self, value: &str) -> Option<Layout> {
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
        Some(Layout {
            characters: self.characters,
            trimmed,
            end,
        })
    }
}

/// Reads a source text character by character.
#[derive(Clone)]
struct Walk<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Walk<'t> {
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

    /// Takes one line break, in any of the three ways to write one.
    fn line_break(&mut self) -> bool {
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

    /// Skips anchors and tags, and what stands between them and the value.
    fn properties(&mut self) {
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
