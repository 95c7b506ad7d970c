//! Resolves unquoted scalars by the YAML 1.2 core schema, as far as JSON can represent them.

use tramline_expr::{Number, Value};

/// A number that JSON cannot represent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotRepresentable;

/// The value of an unquoted scalar.
pub(super) fn resolve(text: &str) -> Result<Value, NotRepresentable> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Err(NotRepresentable),
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Err(NotRepresentable),
        _ => {}
    }
    if let Some(number) = parse_radix(text) {
        return Ok(Value::Number(number));
    }
    if !is_decimal(unsigned) {
        return Ok(text.into());
    }
    let written = text.strip_prefix('+').unwrap_or(text);
    if let Ok(int) = written.parse::<i64>() {
        return Ok(int.into());
    }
    if let Ok(int) = written.parse::<u64>() {
        return Ok(int.into());
    }
    match written.parse::<f64>() {
        Ok(float) if float.is_finite() => Ok(float.into()),
        Ok(_) => Err(NotRepresentable),
        Err(_) => Ok(text.into()),
    }
}

/// Integers in base 8 and 16.
fn parse_radix(text: &str) -> Option<Number> {
    let (digits, base) = match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) => (digits, 8),
        (None, None) => return None,
    };
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, base).ok().map(Number::from)
}

/// `12`, `1.5`, `.5`, `1.`, `1e9`: a number by the core schema, without its sign.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let sound_exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    sound_exponent
        && digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_means_what_yaml_1_2_says() {
        let cases = [
            ("", "null"),
            ("~", "null"),
            ("True", "true"),
            ("yes", "\"yes\""),
            ("on", "\"on\""),
            ("12", "12"),
            ("+12", "12"),
            ("-007", "-7"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("1.5", "1.5"),
            ("1e3", "1000.0"),
            (".5", "0.5"),
            ("1.2.3", "\"1.2.3\""),
            ("18446744073709551615", "18446744073709551615"),
            ("2026-11-15", "\"2026-11-15\""),
            ("e5", "\"e5\""),
            (".", "\".\""),
            ("-", "\"-\""),
            ("0x", "\"0x\""),
            ("$.entry.x", "\"$.entry.x\""),
        ];
        for (text, json) in cases {
            let value = resolve(text).unwrap();
            assert_eq!(value, Value::from_json(json).unwrap(), "{text}");
        }
        for text in [".inf", "-.Inf", ".nan", "1e999"] {
            assert_eq!(resolve(text), Err(NotRepresentable), "{text}");
        }
    }
}
