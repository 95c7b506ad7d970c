//! Numbers and dates as text, controlled by pictures: pure functions that both languages share.
//!
//! Every function is total: any number, picture or text gives a result or a [`TextError`] in time
//! and memory proportional to its input.

use crate::value::Value;

pub(crate) mod date;
pub(crate) mod integer;
pub(crate) mod number;

/// Characters of a user's text that a message repeats.
const SHOWN_CHARS_MAX: usize = 40;

/// Why a picture or a text was rejected; the codes are those of the JSONata reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) value: Option<Value>,
}

impl TextError {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            value: None,
        }
    }

    fn with(mut self, value: impl Into<Value>) -> Self {
        self.value = Some(value.into());
        self
    }

    fn out_of_range(number: f64) -> Self {
        let shown = number::to_js_string(number);
        Self::new("D1001", format!("number out of range: {shown}"))
    }
}

/// A user's text for a message, truncated; the caller adds quotes.
fn truncated(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
