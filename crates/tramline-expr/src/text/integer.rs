//! Whole numbers as text and back: digits with grouping, words, Roman numerals and letters.
//!
//! Where this differs from the JSONata reference on purpose: separators are never put in front of
//! the first digit, and numbers from 1e21 on keep their digits. A text that is no number in the
//! given picture is absent; `$parseInteger` makes it not-a-number, as the reference does.

use super::{TextError, shown};
use crate::text::number::{plain_digits, to_js_string};

mod letters;
mod picture;
mod words;

pub(super) use letters::{from_letters, from_roman};
pub(super) use picture::{Case, Format, Grouping, Primary, digit_of};
pub(super) use words::{WORDS, from_words};

/// `value`, rounded down, in the form that `picture` describes.
pub(crate) fn format_integer(value: f64, picture: &str) -> Result<String, TextError> {
    Format::read(picture)?.format(value.floor())
}

/// The whole number that `text` stands for in the form that `picture` describes.
pub(crate) fn parse_integer(text: &str, picture: &str) -> Result<Option<f64>, TextError> {
    Format::read(picture)?.parse(text)
}

impl Format {
    /// A whole number in this form.
    pub(super) fn format(&self, value: f64) -> Result<String, TextError> {
        let unwritten = value.is_nan() && matches!(self.primary, Primary::Letters | Primary::Roman);
        if unwritten {
            return Ok(String::new());
        }
        if value.is_nan() && matches!(self.primary, Primary::Decimal) {
            return Ok(to_js_string(value));
        }
        if !value.is_finite() {
            return Err(TextError::out_of_range(value));
        }
        let size = value.abs();
        let text = match &self.primary {
            Primary::Letters => letters::letters(size, self.case == Case::Upper),
            Primary::Roman => letters::roman(size, self.case == Case::Upper)?,
            Primary::Words => words::words(size, self.ordinal, self.case)?,
            Primary::Decimal => self.decimal(size),
            Primary::Sequence(token) => return Err(unsupported(token)),
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

    /// The number that `text` stands for in this form.
    pub(super) fn parse(&self, text: &str) -> Result<Option<f64>, TextError> {
        let number = match &self.primary {
            Primary::Letters => from_letters(text, self.case == Case::Upper),
            Primary::Roman if self.case == Case::Upper => from_roman(text),
            Primary::Roman => from_roman(&text.to_uppercase()),
            Primary::Words => from_words(text),
            Primary::Decimal => self.parse_decimal(text),
            Primary::Sequence(token) => return Err(unsupported(token)),
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
    let message = format!(
        "no way to write whole numbers starts with `{}`",
        shown(token)
    );
    TextError::new("D3130", message).with(token)
}
