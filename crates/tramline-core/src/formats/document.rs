//! YAML or JSON text as one value that knows where each of its parts stands in the file.
//!
//! Everything a hostile or broken file can do is bounded here, so that readers only ever see a
//! plain tree of modest size. The parser's events are used rather than a loaded document: they
//! tell how each text was written, which is what finds a place inside it.

use super::Flaws;
use crate::flaw::{Code, Flaw, Place};

mod at;
mod build;
pub(in crate::formats) mod graft;
mod json;
pub(in crate::formats) mod marks;
mod plain;
mod yaml;

pub use at::At;
pub(in crate::formats) use graft::Grafting;
pub use marks::{Marks, Style};
pub(in crate::formats) use marks::{Span, Spot};

/// Larger files are refused, in bytes: a graph written by hand has some thousands.
pub const BYTES_MAX: usize = 4 << 20;
/// Deeper nesting is refused, in levels: rules and schemas in real files stay under 20.
pub const DEPTH_MAX: usize = 64;
/// More values than this are refused, those that aliases repeat counted each time: it keeps a few
/// lines of nested aliases from growing into gigabytes.
pub const VALUES_MAX: usize = 200_000;

/// A document read: its value, and where in the text each part of it stands.
#[derive(Debug)]
pub struct Tree {
    text: String,
    value: tramline_expr::Value,
    marks: Marks,
    root: u32,
}

impl Tree {
    /// The whole document as a place to start from.
    pub fn root(&self) -> At<'_> {
        At::new(self, &self.value, self.root)
    }

    /// The text it was read from, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads YAML or JSON. What is wrong with it is told all at once, as far as it can be read.
pub fn read(bytes: &[u8]) -> Result<Tree, Vec<Flaw>> {
    let text = decode(bytes).map_err(|flaw| vec![*flaw])?;
    let mut flaws = Flaws::default();
    let built = match json::read(text, &mut flaws) {
        Some(built) => Some(built),
        None => yaml::read(text, &mut flaws),
    };
    match built {
        Some((value, root, marks)) if !flaws.fatal() => Ok(Tree {
            text: text.to_owned(),
            value,
            marks,
            root,
        }),
        _ => Err(flaws.sorted()),
    }
}

/// Whether a text without quotes means just that text, and no number, boolean or null.
pub(crate) fn is_plain_text(text: &str) -> bool {
    plain::resolve(text).is_ok_and(|value| value.as_str() == Some(text))
}

/// A value as a document, for whoever was handed one without its text. Its places have no lines,
/// only pointers.
pub fn of_value(value: &tramline_expr::Value) -> Result<Tree, Vec<Flaw>> {
    let mut flaws = Flaws::default();
    match build::of_value(value, &mut flaws) {
        Some((value, root, marks)) if !flaws.fatal() => Ok(Tree {
            text: String::new(),
            value,
            marks,
            root,
        }),
        _ => Err(flaws.sorted()),
    }
}

/// The bytes as text without a byte order mark, if they are text of a size to be read.
pub(in crate::formats) fn decode(bytes: &[u8]) -> Result<&str, Box<Flaw>> {
    let flaw = |place, message: String, suggestion: &str| {
        Box::new(Flaw {
            code: Code::Unreadable,
            place,
            message,
            suggestion: Some(suggestion.to_owned()),
        })
    };
    if bytes.len() > BYTES_MAX {
        let message = format!(
            "{} bytes are more than the {BYTES_MAX} allowed",
            bytes.len()
        );
        return Err(flaw(point("", 0), message, "split it into several files"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let sound = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let place = point(sound, sound.len());
            let message = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
                "the file is UTF-16".to_owned()
            } else {
                format!("the byte at {} is not UTF-8", error.valid_up_to())
            };
            return Err(flaw(place, message, "save the file as UTF-8 text"));
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let control = |&(_, c): &(usize, char)| c < ' ' && !matches!(c, '\t' | '\n' | '\r');
    if let Some((at, c)) = text.char_indices().find(control) {
        let message = format!(
            "the character U+{:04X} does not belong into text",
            u32::from(c)
        );
        let hint = "remove it; in double quotes it can be written as an escape like \\x00";
        return Err(flaw(point(text, at), message, hint));
    }
    Ok(text)
}

/// The place of one character of the text, given by its byte.
pub(crate) fn point(text: &str, byte: usize) -> Place {
    let (line, column) = line_and_column(text, byte);
    Place {
        line,
        column,
        end_line: line,
        end_column: column + 1,
        pointer: String::new(),
    }
}

/// The line and column, from 1 and in characters, of a byte of the text.
pub(crate) fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let (mut line, mut column) = (1, 1);
    let mut characters = text
        .char_indices()
        .take_while(|(at, _)| *at < byte)
        .peekable();
    while let Some((_, c)) = characters.next() {
        let inside_crlf = c == '\r' && characters.peek().is_some_and(|(_, next)| *next == '\n');
        if c == '\n' || (c == '\r' && !inside_crlf) {
            line += 1;
            column = 1;
        } else {
            column += 1;
        }
    }
    (line, column)
}

#[cfg(test)]
mod tests;
