//! A cursor over the masked text.

use super::mask::MASK;
use std::ops::Range;

/// A forward-moving position in a text.
#[derive(Clone, Copy)]
pub(super) struct ChartScanner<'t> {
    text: &'t str,
    pub(super) at: usize,
    end: usize,
}

/// Whether a character is whitespace within a line.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | MASK) || (c.is_whitespace() && c != '\n')
}

impl<'t> ChartScanner<'t> {
    pub(super) fn new(text: &'t str, part: Range<usize>) -> Self {
        Self {
            text,
            at: part.start,
            end: part.end,
        }
    }

    /// The remaining text.
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn starts_with(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    /// Skips `what` if the text starts with it; returns whether it did.
    pub(super) fn accept(&mut self, what: &str) -> bool {
        let there = self.starts_with(what);
        if there {
            self.at += what.len();
        }
        there
    }

    /// Skips whitespace within the line.
    pub(super) fn skip_blanks(&mut self) {
        self.skip(is_blank);
    }

    /// Skips whitespace and line breaks; returns whether there was a line break.
    pub(super) fn skip_whitespace(&mut self) -> bool {
        let before = self.at;
        self.skip(|c| is_blank(c) || c == '\n');
        self.text[before..self.at].contains('\n')
    }

    pub(super) fn skip(&mut self, which: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !which(c)).unwrap_or(rest.len());
    }

    /// Whether a statement ends here.
    pub(super) fn at_statement_end(&self) -> bool {
        matches!(self.peek(), None | Some('\n' | ';'))
    }

    /// Skips to the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.skip(|c| c != '\n');
    }

    /// The text from a byte offset to here.
    pub(super) fn text_since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// Skips the rest of the statement and returns it trimmed, with its offset.
    pub(super) fn rest_of_statement(&mut self) -> (&'t str, usize) {
        self.skip_blanks();
        let start = self.at;
        self.skip(|c| c != '\n' && c != ';');
        (self.text_since(start).trim_end_matches(is_blank), start)
    }

    /// Skips the name of a class and returns it. An arrow may follow without a space: `A:::x-->B`.
    pub(super) fn read_class(&mut self) -> &'t str {
        let rest = self.rest();
        let belongs = |at: usize, c: char| match c {
            '-' => !rest[at + 1..].starts_with(['>', '-', '.']),
            _ => c.is_alphanumeric() || c == '_',
        };
        let end = rest.char_indices().find(|(at, c)| !belongs(*at, *c));
        let end = end.map_or(rest.len(), |(at, _)| at);
        self.at += end;
        &rest[..end]
    }

    /// Skips an id and returns it.
    pub(super) fn read_id(&mut self) -> &'t str {
        let start = self.at;
        let rest = self.rest();
        let mut characters = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let belongs = match c {
                '-' => !matches!(next, Some('>' | '-' | '.')),
                '=' => next != Some('='),
                ':' => !rest[at..].starts_with(":::"),
                '&' => at > 0 || next.is_some_and(|next| next.is_alphanumeric() || next == '_'),
                '!' | '#' | '$' | '%' | '\'' | '*' | '+' | '.' | '`' | '?' | '\\' | '_' | '/'
                | ',' => true,
                _ => c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace()),
            };
            if !belongs {
                end = at;
                break;
            }
        }
        self.at = start + end;
        &rest[..end]
    }
}
