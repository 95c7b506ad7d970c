//! JavaScript's conversions and comparisons; `None` is undefined.

use crate::text::number::to_js_string;
use crate::value::{Number, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// A value, or undefined.
pub(super) type MaybeValue = Option<Value>;

/// Truthiness in JSON Logic: as in JavaScript, but an empty array is false.
pub(super) fn truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(truth)) => *truth,
        Some(Value::Number(number)) => {
            let number = number.as_f64();
            number != 0.0 && !number.is_nan()
        }
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(_)) => true,
    }
}

/// `===`: arrays and objects are equal only if they are the same one.
pub(super) fn identical(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => match (a, b) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b),
            (Value::Object(a), Value::Object(b)) => Arc::ptr_eq(a, b),
            _ => false,
        },
        _ => false,
    }
}

/// `==`.
pub(super) fn equal(a: Option<&Value>, b: Option<&Value>) -> bool {
    let nothing = |value| matches!(value, None | Some(&Value::Null));
    let (Some(left), Some(right)) = (a, b) else {
        return nothing(a) && nothing(b);
    };
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => left.is_null() && right.is_null(),
        (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Array(_) | Value::Object(_), Value::Array(_) | Value::Object(_)) => {
            identical(a, b)
        }
        (Value::Bool(_), _)
        | (_, Value::Bool(_))
        | (Value::Number(_), _)
        | (_, Value::Number(_)) => number(a) == number(b),
        (Value::String(text), other) | (other, Value::String(text)) => {
            *text == *string(Some(other))
        }
    }
}

/// Compares as `<` and its relatives do; `None` if one of them is not a number.
pub(super) fn compare(a: Option<&Value>, b: Option<&Value>) -> Option<Ordering> {
    if let (Some(Value::Number(a)), Some(Value::Number(b))) = (a, b) {
        return a.partial_cmp(b);
    }
    let textual = |value| {
        matches!(
            value,
            Some(&(Value::String(_) | Value::Array(_) | Value::Object(_)))
        )
    };
    if textual(a) && textual(b) {
        return Some(utf16_cmp(&string(a), &string(b)));
    }
    number(a).partial_cmp(&number(b))
}

/// JavaScript orders text by 16-bit units, so emoji sort before the last few letters.
fn utf16_cmp(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// `Number(value)`.
pub(super) fn number(value: Option<&Value>) -> f64 {
    match value {
        None | Some(Value::Object(_)) => f64::NAN,
        Some(Value::Null) => 0.0,
        Some(Value::Bool(truth)) => f64::from(u8::from(*truth)),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => read_number(text),
        Some(Value::Array(items)) => match items.as_slice() {
            [] => 0.0,
            [Value::Number(number)] => number.as_f64(),
            [only] => read_number(&item_string(only)),
            // Two items or more are joined by a comma, which no number contains.
            _ => f64::NAN,
        },
    }
}

/// `String(value)`.
pub(super) fn string(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None => Cow::Borrowed("undefined"),
        Some(Value::Null) => Cow::Borrowed("null"),
        Some(Value::Bool(true)) => Cow::Borrowed("true"),
        Some(Value::Bool(false)) => Cow::Borrowed("false"),
        Some(Value::Number(Number::Int(int))) if int.unsigned_abs() < 1 << 53 => {
            Cow::Owned(int.to_string())
        }
        Some(Value::Number(number)) => Cow::Owned(to_js_string(number.as_f64())),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Array(items)) => Cow::Owned(join(items, ",")),
        Some(Value::Object(_)) => Cow::Borrowed("[object Object]"),
    }
}

/// Joins the items as text; `null` is empty.
pub(super) fn join(items: &[Value], separator: &str) -> String {
    let mut text = String::new();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push_str(separator);
        }
        text.push_str(&item_string(item));
    }
    text
}

/// An item of an array as text.
pub(super) fn item_string(item: &Value) -> Cow<'_, str> {
    match item {
        Value::Null => Cow::Borrowed(""),
        other => string(Some(other)),
    }
}

/// `parseFloat(value)`: the number that the value's text starts with.
pub(super) fn leading_number(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => leading(text),
        // The number ends at the comma after the first item.
        Some(Value::Array(items)) => match items.first() {
            None | Some(Value::Null) => f64::NAN,
            first => leading_number(first),
        },
        None | Some(Value::Null | Value::Bool(_) | Value::Object(_)) => f64::NAN,
    }
}

fn leading(text: &str) -> f64 {
    let text = text.trim_start_matches(is_space);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with("Infinity") {
        return if text.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    let sign = text.len() - unsigned.len();
    match decimal_length(unsigned) {
        0 => f64::NAN,
        length => text[..sign + length].parse().unwrap_or(f64::NAN),
    }
}

/// `Number(text)`.
fn read_number(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return 0.0;
    }
    for (prefixes, base) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        let digits = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
        if let Some(digits) = digits {
            return in_base(digits, base);
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "Infinity" || decimal_length(unsigned) == unsigned.len() && !unsigned.is_empty()
    {
        return text.parse().unwrap_or(f64::NAN);
    }
    f64::NAN
}

fn in_base(digits: &str, base: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    let add = |sum: f64, digit: char| {
        digit
            .to_digit(base)
            .map(|digit| sum * f64::from(base) + f64::from(digit))
    };
    digits.chars().try_fold(0.0, add).unwrap_or(f64::NAN)
}

/// The length of the unsigned decimal number at the start of `text`; 0 if there is none.
fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let whole = digits(0);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    }
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = if end + 1 + sign <= bytes.len() {
            digits(end + 1 + sign)
        } else {
            0
        };
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// White space as JavaScript trims it.
fn is_space(char: char) -> bool {
    (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}'
}
