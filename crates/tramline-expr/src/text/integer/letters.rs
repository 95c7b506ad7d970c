//! Numbers as letters (a, b, … z, aa) and as Roman numerals.

use crate::text::TextError;

/// Largest number in Roman numerals: they grow by a letter per thousand.
const ROMAN_MAX: f64 = 4_000_000.0;

const NUMERALS: [(u32, &str); 13] = [
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
];

pub(super) fn letters(size: f64, upper: bool) -> String {
    let first = if upper { b'A' } else { b'a' };
    let mut backwards = Vec::new();
    let mut rest = size;
    // At most about 220 iterations: each divides by 26, and 1.8e308 is the largest double.
    while rest >= 1.0 {
        let letter = ((rest - 1.0) % 26.0) as u8;
        backwards.push(char::from(first + letter));
        rest = ((rest - 1.0) / 26.0).floor();
    }
    backwards.into_iter().rev().collect()
}

pub(in crate::text) fn from_letters(text: &str, upper: bool) -> Option<f64> {
    let first = f64::from(u32::from(if upper { b'A' } else { b'a' }));
    Some(text.chars().fold(0.0, |sum, letter| {
        sum * 26.0 + f64::from(letter as u32) - first + 1.0
    }))
}

pub(super) fn roman(size: f64, upper: bool) -> Result<String, TextError> {
    if size > ROMAN_MAX {
        let message = format!("Roman numerals are limited to {ROMAN_MAX}");
        return Err(TextError::new("D3130", message).with(size));
    }
    let mut rest = size as u32;
    let mut text = String::new();
    for (worth, numeral) in NUMERALS {
        while rest >= worth {
            text.push_str(numeral);
            rest -= worth;
        }
    }
    Ok(if upper { text.to_uppercase() } else { text })
}

/// Reads upper-case numerals; a smaller one before a larger one is subtracted.
pub(in crate::text) fn from_roman(text: &str) -> Option<f64> {
    let (mut sum, mut largest) = (0.0, 0.0);
    for numeral in text.chars().rev() {
        let worth = match numeral {
            'M' => 1000.0,
            'D' => 500.0,
            'C' => 100.0,
            'L' => 50.0,
            'X' => 10.0,
            'V' => 5.0,
            'I' => 1.0,
            _ => return None,
        };
        if worth < largest {
            sum -= worth;
        } else {
            largest = worth;
            sum += worth;
        }
    }
    Some(sum)
}
