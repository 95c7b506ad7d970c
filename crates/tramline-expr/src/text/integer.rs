//! Integers as text and back: digits with grouping, words, Roman numerals and letters.
//!
//! Intended differences from the JSONata reference: separators are never put before the first
//! digit, and numbers from 1e21 on keep their digits. Text that is not a number in the given
//! picture is `None`; `$parseInteger` turns it into NaN, as the reference does.

use super::{TextError, truncated};
use crate::text::number::{plain_digits, to_js_string};

mod letters;
mod number_words;
mod picture;

pub(super) use letters::{from_letters, from_roman};
pub(super) use number_words::{WORDS, from_words};
pub(super) use picture::{Grouping, IntegerFormat, LetterCase, NumeralKind, digit_of};

/// Formats `value`, rounded down, by `picture`.
pub(crate) fn format_integer(value: f64, picture: &str) -> Result<String, TextError> {
    IntegerFormat::read(picture)?.format(value.floor())
}

/// Parses `text` as an integer by `picture`.
pub(crate) fn parse_integer(text: &str, picture: &str) -> Result<Option<f64>, TextError> {
    IntegerFormat::read(picture)?.parse(text)
}

impl IntegerFormat {
    /// Formats an integer.
    pub(super) fn format(&self, value: f64) -> Result<String, TextError> {
        let unwritten =
            value.is_nan() && matches!(self.primary, NumeralKind::Letters | NumeralKind::Roman);
        if unwritten {
            return Ok(String::new());
        }
        if value.is_nan() && matches!(self.primary, NumeralKind::Decimal) {
            return Ok(to_js_string(value));
        }
        if !value.is_finite() {
            return Err(TextError::out_of_range(value));
        }
        let size = value.abs();
        let text = match &self.primary {
            NumeralKind::Letters => letters::letters(size, self.case == LetterCase::Upper),
            NumeralKind::Roman => letters::roman(size, self.case == LetterCase::Upper)?,
            NumeralKind::Words => number_words::words(size, self.ordinal, self.case)?,
            NumeralKind::Decimal => self.decimal(size),
            NumeralKind::Sequence(token) => return Err(unsupported(token)),
        };
        Ok(if value < 0.0 {
            format!("-{text}")
        } else {
            text
        })
    }

    fn decimal(&self, size: f64) -> String {
        let digits = if size < 1e21 {
            to_js_string(size)
        } else {
            plain_digits(size)
        };
        let padding = self.mandatory_digits.saturating_sub(digits.len());
        let zero = self.zero as u32;
        let padded: Vec<char> = std::iter::repeat_n('0', padding)
            .chain(digits.chars())
            .map(|digit| char::from_u32(zero + digit as u32 - 0x30).unwrap_or(digit))
            .collect();
        let mut text = self.grouping.apply(&padded);
        if self.ordinal {
            text.push_str(ordinal_suffix(&digits));
        }
        text
    }

    /// Parses an integer in this format.
    pub(super) fn parse(&self, text: &str) -> Result<Option<f64>, TextError> {
        let number = match &self.primary {
            NumeralKind::Letters => from_letters(text, self.case == LetterCase::Upper),
            NumeralKind::Roman if self.case == LetterCase::Upper => from_roman(text),
            NumeralKind::Roman => from_roman(&text.to_uppercase()),
            NumeralKind::Words => from_words(text),
            NumeralKind::Decimal => self.parse_decimal(text),
            NumeralKind::Sequence(token) => return Err(unsupported(token)),
        };
        Ok(number.filter(|number| number.is_finite()))
    }

    fn parse_decimal(&self, text: &str) -> Option<f64> {
        let mut text = text;
        for _ in 0..if self.ordinal { 2 } else { 0 } {
            text = text
                .char_indices()
                .next_back()
                .map_or("", |(at, _)| &text[..at]);
        }
        let text = text.trim_start();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let separators = self.grouping.separators();
        let digits: String = text
            .chars()
            .filter(|char| !separators.contains(char))
            .map_while(|char| digit_of(char, self.zero))
            .filter_map(|digit| char::from_digit(digit, 10))
            .collect();
        let number: f64 = digits.parse().ok()?;
        Some(if negative { -number } else { number })
    }
}

fn ordinal_suffix(digits: &str) -> &'static str {
    let digits = digits.as_bytes();
    let teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    match digits.last() {
        Some(b'1') if !teen => "st",
        Some(b'2') if !teen => "nd",
        Some(b'3') if !teen => "rd",
        _ => "th",
    }
}

fn unsupported(token: &str) -> TextError {
    let message = format!("unsupported integer picture `{}`", truncated(token));
    TextError::new("D3130", message).with(token)
}
