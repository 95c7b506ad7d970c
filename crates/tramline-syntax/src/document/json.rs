//! Parses JSON into a document. YAML reads most JSON, but not its tabs and surrogate escapes.

use super::build::{BuiltTree, LimitReached, TreeBuilder};
use super::spans::{SourcePosition, SourceRange, YamlStyle};
use crate::FlawCollector;
use tramline_expr::Value;
use tramline_workflow::flaw::FlawCode;

/// Parses the text if it is JSON; otherwise it is left to the YAML parser.
pub(super) fn read(text: &str, flaws: &mut FlawCollector) -> Option<BuiltTree> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    // Validate the syntax first; the code below relies on it.
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut reader = JsonReader {
        text,
        byte: 0,
        at: SourcePosition {
            index: 0,
            line: 1,
            column: 1,
        },
        builder: TreeBuilder::new(flaws),
    };
    match reader.read_document() {
        Ok(()) | Err(LimitReached) => reader.builder.finish(),
    }
}

struct JsonReader<'t, 'f> {
    text: &'t str,
    byte: usize,
    at: SourcePosition,
    builder: TreeBuilder<'f>,
}

impl JsonReader<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.text[self.byte..].chars().next()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.byte += c.len_utf8();
        self.at.index += 1;
        self.at.column += 1;
        let lone_return = c == '\r' && self.peek() != Some('\n');
        if c == '\n' || lone_return {
            self.at.line += 1;
            self.at.column = 1;
        }
        Some(c)
    }

    fn read_document(&mut self) -> Result<(), LimitReached> {
        while let Some(c) = self.peek() {
            let start = self.at;
            match c {
                '{' | '[' => {
                    self.advance();
                    let style = if c == '{' {
                        YamlStyle::Mapping
                    } else {
                        YamlStyle::Sequence
                    };
                    self.builder.open(style, self.span_from(start), 0)?;
                }
                '}' | ']' => {
                    self.advance();
                    let span = self.span_from(start);
                    self.builder.close(span);
                }
                ',' | ':' | ' ' | '\t' | '\r' | '\n' => {
                    self.advance();
                }
                '"' => self.read_string(start)?,
                _ => self.read_literal(start)?,
            }
        }
        Ok(())
    }

    fn span_from(&self, start: SourcePosition) -> SourceRange {
        SourceRange {
            start,
            end: self.at,
        }
    }

    fn read_string(&mut self, start: SourcePosition) -> Result<(), LimitReached> {
        let first = self.byte;
        self.advance();
        while let Some(c) = self.advance() {
            match c {
                '\\' => {
                    self.advance();
                }
                '"' => break,
                _ => {}
            }
        }
        let span = self.span_from(start);
        let value = self.parse_scalar(first, span);
        match value {
            Value::String(name) if self.builder.awaits_key() => {
                self.builder.key(name, span, false);
                Ok(())
            }
            value => self.builder.scalar(value, YamlStyle::Double, span, 0),
        }
    }

    /// The scalar that was just scanned.
    fn parse_scalar(&mut self, first: usize, span: SourceRange) -> Value {
        Value::from_json(&self.text[first..self.byte]).unwrap_or_else(|error| {
            // Drop the column: it is relative to this value and would mislead.
            let why = error.to_string();
            let why = why.split(" at line").next().unwrap_or_default();
            let message = format!("invalid JSON value: {why}");
            self.builder.report(
                FlawCode::WrongType,
                span,
                message,
                "fix the escape or the number",
            );
            Value::Null
        })
    }

    fn read_literal(&mut self, start: SourcePosition) -> Result<(), LimitReached> {
        let first = self.byte;
        while self
            .peek()
            .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        {
            self.advance();
        }
        if first == self.byte {
            self.advance();
        }
        let span = self.span_from(start);
        let value = self.parse_scalar(first, span);
        self.builder.scalar(value, YamlStyle::Plain, span, 0)
    }
}
