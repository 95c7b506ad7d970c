//! JSON text into a document. YAML reads most JSON, but not its tabs and surrogate escapes.

use super::build::{Builder, Built, Stop};
use super::marks::{Span, Spot, Style};
use crate::flaw::Code;
use crate::formats::Flaws;
use tramline_expr::Value;

/// Reads the text if it is JSON. What is not JSON is left for YAML to read, or to complain of.
pub(super) fn read(text: &str, flaws: &mut Flaws) -> Option<Built> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    // Syntax first and in one place: what follows may then take every character on trust.
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut reader = Reader {
        text,
        byte: 0,
        at: Spot {
            index: 0,
            line: 1,
            column: 1,
        },
        builder: Builder::new(flaws),
    };
    match reader.document() {
        Ok(()) | Err(Stop) => reader.builder.finish(),
    }
}

struct Reader<'t, 'f> {
    text: &'t str,
    byte: usize,
    at: Spot,
    builder: Builder<'f>,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.text[self.byte..].chars().next()
    }

    fn step(&mut self) -> Option<char> {
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

    fn document(&mut self) -> Result<(), Stop> {
        while let Some(c) = self.peek() {
            let start = self.at;
            match c {
                '{' | '[' => {
                    self.step();
                    let style = if c == '{' {
                        Style::Mapping
                    } else {
                        Style::Sequence
                    };
                    self.builder.open(style, self.from(start), 0)?;
                }
                '}' | ']' => {
                    self.step();
                    let span = self.from(start);
                    self.builder.close(span);
                }
                ',' | ':' | ' ' | '\t' | '\r' | '\n' => {
                    self.step();
                }
                '"' => self.text_value(start)?,
                _ => self.word(start)?,
            }
        }
        Ok(())
    }

    fn from(&self, start: Spot) -> Span {
        Span {
            start,
            end: self.at,
        }
    }

    fn text_value(&mut self, start: Spot) -> Result<(), Stop> {
        let first = self.byte;
        self.step();
        while let Some(c) = self.step() {
            match c {
                '\\' => {
                    self.step();
                }
                '"' => break,
                _ => {}
            }
        }
        let span = self.from(start);
        let value = self.parsed(first, span);
        match value {
            Value::String(name) if self.builder.awaits_key() => {
                self.builder.key(name, span, false);
                Ok(())
            }
            value => self.builder.scalar(value, Style::Double, span, 0),
        }
    }

    /// The text or number that was just passed over.
    fn parsed(&mut self, first: usize, span: Span) -> Value {
        Value::from_json(&self.text[first..self.byte]).unwrap_or_else(|error| {
            // The column inside this one value would only mislead.
            let why = error.to_string();
            let why = why.split(" at line").next().unwrap_or_default();
            let message = format!("JSON cannot hold this: {why}");
            self.builder.flaw(
                Code::WrongType,
                span,
                message,
                "mend the escape or the number",
            );
            Value::Null
        })
    }

    fn word(&mut self, start: Spot) -> Result<(), Stop> {
        let first = self.byte;
        while self
            .peek()
            .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        {
            self.step();
        }
        if first == self.byte {
            self.step();
        }
        let span = self.from(start);
        let value = self.parsed(first, span);
        self.builder.scalar(value, Style::Plain, span, 0)
    }
}
