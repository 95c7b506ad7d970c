//! Number functions: aggregates, rounding, powers and bases.

use super::Builtin;
use super::string::number_text;
use crate::error::{ExprResult, Flaw};
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::text::number::format_base;
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn aggregate_of(&mut self, builtin: Builtin, list: &Val) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let items = list.items();
        self.meter.burn(items.len() as u64)?;
        let numbers = items.iter().filter_map(|item| item.as_f64());
        let count = items.len();
        if count == 0 && builtin != Builtin::Sum {
            return Ok(Val::Undef);
        }
        Ok(Val::number(match builtin {
            Builtin::Sum => numbers.fold(0.0, |total, number| total + number),
            Builtin::Average => numbers.fold(0.0, |total, number| total + number) / count as f64,
            Builtin::Max => numbers.fold(f64::NEG_INFINITY, |most, number| {
                if most >= number || most.is_nan() {
                    most
                } else {
                    number
                }
            }),
            _ => numbers.fold(f64::INFINITY, |least, number| {
                if least <= number || least.is_nan() {
                    least
                } else {
                    number
                }
            }),
        }))
    }

    pub(super) fn number(&mut self, val: &Val) -> ExprResult<Val> {
        match val {
            Val::Undef => Ok(Val::Undef),
            Val::Json(Value::Number(_), _) => Ok(val.clone()),
            Val::Json(Value::Bool(truth), _) => Ok(Val::Json(i64::from(*truth).into(), 0)),
            Val::Json(Value::String(text), _) => match parse_number(text) {
                Some(number) if number.is_finite() => Ok(Val::number(number)),
                _ => Err(not_a_number(val)),
            },
            _ => Err(not_a_number(val)),
        }
    }

    pub(super) fn numeric(&mut self, builtin: Builtin, val: &Val) -> ExprResult<Val> {
        let Some(number) = val.as_f64() else {
            return Ok(Val::Undef);
        };
        Ok(Val::number(match builtin {
            Builtin::Floor => number.floor(),
            Builtin::Ceil => number.ceil(),
            Builtin::Abs => number.abs(),
            _ if number < 0.0 => {
                let message = format!("{} is negative and has no square root", number_text(number));
                return Err(Flaw::new("D3060", message).value(Value::from(number)));
            }
            _ => number.sqrt(),
        }))
    }

    pub(super) fn round(&mut self, val: &Val, precision: &Val) -> ExprResult<Val> {
        let Some(number) = val.as_f64() else {
            return Ok(Val::Undef);
        };
        let precision = precision.as_f64().filter(|places| !places.is_nan());
        let precision = precision.unwrap_or(0.0);
        Ok(Val::number(round_half_even(number, precision)))
    }

    pub(super) fn power(&mut self, base: &Val, exponent: &Val) -> ExprResult<Val> {
        let Some(base) = base.as_f64() else {
            return Ok(Val::Undef);
        };
        let exponent = exponent.as_f64().unwrap_or(f64::NAN);
        let undecided = exponent.is_nan() || base.abs() == 1.0 && exponent.is_infinite();
        let result = match undecided {
            true => f64::NAN,
            false => base.powf(exponent),
        };
        if !result.is_finite() {
            let message = format!("{base} to the power of {exponent} is not a finite number");
            return Err(Flaw::new("D3061", message).value(Value::from(base)));
        }
        Ok(Val::number(result))
    }

    pub(super) fn format_base(&mut self, val: &Val, radix: &Val) -> ExprResult<Val> {
        let Some(number) = val.as_f64() else {
            return Ok(Val::Undef);
        };
        self.meter.text(64)?;
        match format_base(number, radix.as_f64()) {
            Ok(text) => Ok(Val::text(text)),
            Err(error) => Err(Flaw::new(error.code, error.message).value(error.value)),
        }
    }
}

fn not_a_number(val: &Val) -> Box<Flaw> {
    Flaw::new("D3030", "this value cannot be converted to a number").value(val.to_value())
}

fn parse_number(text: &str) -> Option<f64> {
    let radix = match text.get(..2) {
        Some("0x" | "0X") => Some(16),
        Some("0o" | "0O") => Some(8),
        Some("0b" | "0B") => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        let digits = &text[2..];
        let mut number = 0.0;
        for digit in digits.chars() {
            number = number * f64::from(radix) + f64::from(digit.to_digit(radix)?);
        }
        return (!digits.is_empty()).then_some(number);
    }
    let bytes = text.as_bytes();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let whole = digits(at);
    if whole == 0 {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        let exponent = if at < bytes.len() { digits(at) } else { 0 };
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    if at != bytes.len() {
        return None;
    }
    text.parse().ok()
}

/// Shifts the decimal point in the number's text, so that 1.005 shifts exactly.
fn shift_decimal(number: f64, places: f64) -> f64 {
    let text = number_text(number);
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits, exponent.parse::<f64>().unwrap_or(0.0)),
        None => (text.as_str(), 0.0),
    };
    // A fractional precision does not parse as an exponent, so the result is NaN.
    format!("{digits}e{}", number_text(exponent + places))
        .parse()
        .unwrap_or(f64::NAN)
}

fn round_half_even(number: f64, precision: f64) -> f64 {
    if !number.is_finite() {
        return number;
    }
    let scaled = if precision == 0.0 {
        number
    } else {
        shift_decimal(number, precision)
    };
    let mut result = (scaled + 0.5).floor();
    if (scaled + 0.5) - scaled != 0.5 {
        // Too large for halves: it is already an integer.
        result = scaled.round();
    }
    if (result - scaled).abs() == 0.5 && (result % 2.0).abs() == 1.0 {
        result -= 1.0;
    }
    let result = if precision == 0.0 {
        result
    } else {
        shift_decimal(result, -precision)
    };
    if result == 0.0 { 0.0 } else { result }
}
