//! Truth and equality as JSONata defines them.

use crate::error::ExprResult;
use crate::eval::val::Val;
use crate::limits::Meter;
use crate::value::Value;
use std::rc::Rc;

/// Whether a value counts as true; undefined does not.
#[inline]
pub(crate) fn is_true(meter: &Meter, val: &Val) -> ExprResult<bool> {
    match val {
        Val::Json(Value::Bool(truth), _) => Ok(*truth),
        _ => Ok(truth(meter, val)? == Some(true)),
    }
}

/// The truth value of a value; `None` for undefined.
pub(crate) fn truth(meter: &Meter, val: &Val) -> ExprResult<Option<bool>> {
    Ok(match val {
        Val::Undef => None,
        Val::Json(value, _) => Some(value_truth(meter, value)?),
        Val::List(list) => {
            for item in &list.items {
                meter.burn(1)?;
                if truth(meter, item)? == Some(true) {
                    return Ok(Some(true));
                }
            }
            Some(false)
        }
        Val::Record(record) => Some(!record.entries.is_empty()),
        Val::Func(_) | Val::Tuples(_) => Some(false),
    })
}

fn value_truth(meter: &Meter, value: &Value) -> ExprResult<bool> {
    Ok(match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != 0.0 && !number.as_f64().is_nan(),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => {
            for item in items.iter() {
                meter.burn(1)?;
                if value_truth(meter, item)? {
                    return Ok(true);
                }
            }
            false
        }
        Value::Object(map) => !map.is_empty(),
    })
}

/// Deep equality. Functions are equal only if they are the same function.
pub(crate) fn equal(meter: &Meter, left: &Val, right: &Val) -> ExprResult<bool> {
    match (left, right) {
        (Val::Json(a, _), Val::Json(b, _)) => value_equal(meter, a, b),
        (Val::Func(a), Val::Func(b)) => Ok(Rc::ptr_eq(a, b)),
        _ if left.is_array() && right.is_array() => {
            let (a, b) = (left.items(), right.items());
            if a.len() != b.len() {
                return Ok(false);
            }
            for at in 0..a.len() {
                meter.burn(1)?;
                if !equal(meter, &a.get(at), &b.get(at))? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Val::Record(a), Val::Record(b)) => {
            if a.entries.len() != b.entries.len() {
                return Ok(false);
            }
            for (key, val) in &a.entries {
                meter.burn(b.entries.len() as u64)?;
                let other = b.entries.iter().find(|(known, _)| known == key);
                match other {
                    Some((_, other)) if equal(meter, val, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

pub(crate) fn value_equal(meter: &Meter, left: &Value, right: &Value) -> ExprResult<bool> {
    match (left, right) {
        (Value::Array(a), Value::Array(b)) => {
            if std::sync::Arc::ptr_eq(a, b) {
                return Ok(true);
            }
            if a.len() != b.len() {
                return Ok(false);
            }
            meter.burn(a.len() as u64)?;
            for (a, b) in a.iter().zip(b.iter()) {
                if !value_equal(meter, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(a), Value::Object(b)) => {
            if std::sync::Arc::ptr_eq(a, b) {
                return Ok(true);
            }
            if a.len() != b.len() {
                return Ok(false);
            }
            meter.burn(a.len() as u64)?;
            for (key, value) in a.iter() {
                match b.get(key) {
                    Some(other) if value_equal(meter, value, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::String(a), Value::String(b)) => {
            meter.burn(a.len() as u64 / 16)?;
            Ok(a == b)
        }
        _ => Ok(left == right),
    }
}
