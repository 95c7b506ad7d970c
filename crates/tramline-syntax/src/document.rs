//! Parses YAML or JSON into one value that knows the source location of each of its parts.
//!
//! Size and depth are limited here, so that readers only see a plain tree of moderate size. It uses
//! the parser's events instead of a loaded document, because the events say how each scalar was
//! written, which is needed to map positions inside it.

use super::FlawCollector;
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};

mod build;
mod core_schema;
pub mod embedded;
mod json;
mod spanned;
pub mod spans;
mod yaml;
mod yaml_repair;

pub use embedded::EmbeddedBuilder;
pub use spanned::Spanned;
pub use spans::{SourcePosition, SourceRange};
pub use spans::{SpanTree, YamlStyle};

/// Largest accepted file, in bytes: a graph written by hand has a few thousand.
pub const BYTES_MAX: usize = 4 << 20;
/// Deepest accepted nesting, in levels: rules and schemas in real files stay under 20.
pub const DEPTH_MAX: usize = 64;
/// Most values in a document, with aliased values counted at each use: a few lines of nested aliases
/// could otherwise grow into gigabytes.
pub const VALUES_MAX: usize = 200_000;

/// A parsed document: its value, and the source location of each part.
#[derive(Debug)]
pub struct SourceTree {
    text: String,
    value: tramline_expr::Value,
    marks: SpanTree,
    root: u32,
}

impl SourceTree {
    /// The root value.
    pub fn root(&self) -> Spanned<'_> {
        Spanned::new(self, &self.value, self.root)
    }

    /// The source text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Parses YAML or JSON and reports as many flaws as possible at once.
pub fn read(bytes: &[u8]) -> Result<SourceTree, Vec<Flaw>> {
    let text = decode(bytes).map_err(|flaw| vec![*flaw])?;
    let mut flaws = FlawCollector::default();
    let built = match json::read(text, &mut flaws) {
        Some(built) => Some(built),
        None => yaml::read(text, &mut flaws),
    };
    match built {
        Some((value, root, marks)) if !flaws.has_errors() => Ok(SourceTree {
            text: text.to_owned(),
            value,
            marks,
            root,
        }),
        _ => Err(flaws.into_sorted()),
    }
}

/// Whether an unquoted scalar is a string, not a number, boolean or null.
pub fn is_unquoted_string(text: &str) -> bool {
    core_schema::resolve(text).is_ok_and(|value| value.as_str() == Some(text))
}

/// Wraps a value that has no source text. Its locations have pointers but no lines.
pub fn from_value(value: &tramline_expr::Value) -> Result<SourceTree, Vec<Flaw>> {
    let mut flaws = FlawCollector::default();
    match build::build_from_value(value, &mut flaws) {
        Some((value, root, marks)) if !flaws.has_errors() => Ok(SourceTree {
            text: String::new(),
            value,
            marks,
            root,
        }),
        _ => Err(flaws.into_sorted()),
    }
}

/// Decodes the bytes as UTF-8 without a byte order mark and enforces the size limit.
pub fn decode(bytes: &[u8]) -> Result<&str, Box<Flaw>> {
    let flaw = |place, message: String, suggestion: &str| {
        Box::new(Flaw {
            code: FlawCode::Unreadable,
            span: place,
            message,
            suggestion: Some(suggestion.to_owned()),
        })
    };
    if bytes.len() > BYTES_MAX {
        let message = format!("{} bytes exceed the limit of {BYTES_MAX}", bytes.len());
        return Err(flaw(
            char_span("", 0),
            message,
            "split it into several files",
        ));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let sound = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let place = char_span(sound, sound.len());
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
            "the character U+{:04X} is not allowed in text",
            u32::from(c)
        );
        let hint = "remove it; in double quotes it can be written as an escape like \\x00";
        return Err(flaw(char_span(text, at), message, hint));
    }
    Ok(text)
}

/// The location of one character, given its byte offset.
pub(crate) fn char_span(text: &str, byte: usize) -> SourceSpan {
    let (line, column) = line_and_column(text, byte);
    SourceSpan {
        line,
        column,
        end_line: line,
        end_column: column + 1,
        pointer: String::new(),
    }
}

/// The line and column (from 1, in characters) of a byte offset.
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
