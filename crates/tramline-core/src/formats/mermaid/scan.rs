//! A cursor over the masked text: looks ahead, skips space, says where it is.

use super::mask::MASK;
use std::ops::Range;

/// A place in a text, moving forward.
#[derive(Clone, Copy)]
pub(super) struct Scan<'t> {
    text: &'t str,
    pub(super) at: usize,
    end: usize,
}

/// Whether a character is space within a line.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | MASK) || (c.is_whitespace() && c != '\n')
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str, part: Range<usize>) -> Self {
        Self {
            text,
            at: part.start,
            end: part.end,
        }
    }

    /// What is still to come.
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn starts(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    /// Goes past `what`, if it stands here.
    pub(super) fn take(&mut self, what: &str) -> bool {
        let there = self.starts(what);
        if there {
            self.at += what.len();
        }
        there
    }

    /// Goes past space, but not past the end of the line.
    pub(super) fn blanks(&mut self) {
        self.skip(is_blank);
    }

    /// Goes past space and ends of lines; whether there was one.
    pub(super) fn spaces(&mut self) -> bool {
        let before = self.at;
        self.skip(|c| is_blank(c) || c == '\n');
        self.text[before..self.at].contains('\n')
    }

    pub(super) fn skip(&mut self, which: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !which(c)).unwrap_or(rest.len());
    }

    /// Whether a statement ends here.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.peek(), None | Some('\n' | ';'))
    }

    /// Goes to the end of this line.
    pub(super) fn skip_line(&mut self) {
        self.skip(|c| c != '\n');
    }

    /// The text from a byte to here.
    pub(super) fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// What is left of the statement, trimmed: goes to its end.
    pub(super) fn remainder(&mut self) -> (&'t str, usize) {
        self.blanks();
        let start = self.at;
        self.skip(|c| c != '\n' && c != ';');
        (self.since(start).trim_end_matches(is_blank), start)
    }

    /// The characters of an id that stand here.
    pub(super) fn word(&mut self) -> &'t str {
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
                '&' => at > 0,
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
