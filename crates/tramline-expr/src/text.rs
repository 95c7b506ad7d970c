//! Numbers and dates as text, driven by pictures: pure functions the expression languages share.
//!
//! Everything here is total: any number, any picture, any text gives a result or a [`TextError`] in
//! time and memory proportional to what came in.

use crate::value::Value;

pub(crate) mod date;
pub(crate) mod integer;
pub(crate) mod number;

/// How much of a user's text a message repeats.
const SHOWN_CHARS_MAX: usize = 40;

/// Why a picture or a text could not be used; the codes are those of the JSONata reference.
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

/// A user's text for a message: quoted by the caller, cut short here.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
