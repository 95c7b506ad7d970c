//! Numbers as text: JavaScript's format, other bases, and XPath pictures.

use super::TextError;

mod picture;
mod render;

pub(crate) use render::format_number;

/// The shortest text that parses back to the same number, as JavaScript writes it.
pub(crate) fn to_js_string(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// The digits of an integer from 1e21 on, which JavaScript would write with an exponent.
pub(super) fn plain_digits(size: f64) -> String {
    let text = to_js_string(size);
    let Some((mantissa, exponent)) = text.split_once("e+") else {
        return text;
    };
    let exponent: usize = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = exponent.saturating_sub(fraction.len());
    format!("{whole}{fraction}{}", "0".repeat(zeros))
}

/// Rounds `number` to `places` decimal places, halves to the even neighbour.
///
/// The decimal point is moved in the number's text, so 1.005 counts as the half it is written as.
pub(crate) fn round(number: f64, places: i32) -> f64 {
    let shifted = shift(number, places);
    if !shifted.is_finite() {
        return number;
    }
    let below = shifted.floor();
    let rest = shifted - below;
    let up = rest > 0.5 || (rest == 0.5 && below % 2.0 != 0.0);
    let rounded = if up { below + 1.0 } else { below };
    let result = shift(rounded, places.saturating_neg());
    if result == 0.0 { 0.0 } else { result }
}

/// Moves the decimal point of the number's shortest text.
fn shift(number: f64, places: i32) -> f64 {
    if places == 0 || !number.is_finite() {
        return number;
    }
    let text = to_js_string(number);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    format!("{mantissa}e{}", exponent.saturating_add(places))
        .parse()
        .unwrap_or(f64::NAN)
}

/// Formats `value`, rounded to an integer, in a base from 2 to 36.
pub(crate) fn format_base(value: f64, base: Option<f64>) -> Result<String, TextError> {
    let base = round(base.unwrap_or(10.0), 0);
    if !(2.0..=36.0).contains(&base) {
        let message = "the base must be a number from 2 to 36";
        return Err(TextError::new("D3100", message).with(base));
    }
    let value = round(value, 0);
    if base == 10.0 || !value.is_finite() {
        return Ok(to_js_string(value));
    }
    Ok(in_base(value, base))
}

/// Integers beyond 2^53 end in zeros, because a double holds no more digits.
fn in_base(value: f64, base: f64) -> String {
    let mut rest = value.abs();
    let mut backwards = Vec::new();
    while rest / base >= 9_007_199_254_740_992.0 {
        rest /= base;
        backwards.push('0');
    }
    rest = rest.floor();
    loop {
        backwards.extend(char::from_digit((rest % base) as u32, base as u32));
        rest = ((rest - rest % base) / base).floor();
        if rest < 1.0 {
            break;
        }
    }
    if value < 0.0 {
        backwards.push('-');
    }
    backwards.into_iter().rev().collect()
}
