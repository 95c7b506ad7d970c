//! The crate `jsonata-core`, with its own values as input and with ours.

use crate::ours::time;
use anyhow::{Result, anyhow};
use jsonata_core::Expression;
use jsonata_core::value::{JMap, JValue};
use std::hint::black_box;
use std::rc::Rc;
use tramline_expr::{Map, Value};

/// The value of an expression.
pub(crate) fn value(source: &str, input: &Value) -> Result<serde_json::Value> {
    let expression = Expression::compile(source).map_err(|error| anyhow!("{source}: {error}"))?;
    let value = expression.evaluate(&to_theirs(input));
    let value = value.map_err(|error| anyhow!("{source}: {error}"))?;
    Ok(serde_json::from_str(&to_ours(&value).to_json())?)
}

/// Nanoseconds without and with conversion of the values in both directions.
pub(crate) fn shape(source: &str, input: &Value) -> Result<(f64, f64)> {
    let expression = Expression::compile(source).map_err(|error| anyhow!("{source}: {error}"))?;
    let own = to_theirs(input);
    let alone = time(|| {
        let _ = black_box(expression.evaluate(black_box(&own)));
    });
    let converting = time(|| {
        let value = expression.evaluate(&to_theirs(black_box(input)));
        let _ = black_box(value.map(|value| to_ours(&value)));
    });
    Ok((alone, converting))
}

fn to_theirs(value: &Value) -> JValue {
    match value {
        Value::Null => JValue::Null,
        Value::Bool(flag) => JValue::Bool(*flag),
        Value::Number(number) => JValue::Number(number.as_f64()),
        Value::String(text) => JValue::string(text.as_str()),
        Value::Array(items) => JValue::array(items.iter().map(to_theirs).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (name.to_string(), to_theirs(value)));
            JValue::Object(Rc::new(fields.collect::<JMap>()))
        }
    }
}

fn to_ours(value: &JValue) -> Value {
    match value {
        JValue::Bool(flag) => Value::Bool(*flag),
        JValue::Number(number) => Value::from(*number),
        JValue::String(text) => Value::from(&**text),
        JValue::Array(items) => Value::array(items.iter().map(to_ours)),
        JValue::Object(fields) => {
            let mut made = Map::with_capacity(fields.len());
            for (name, value) in fields.iter() {
                made.insert(name.as_str(), to_ours(value));
            }
            Value::from(made)
        }
        _ => Value::Null,
    }
}
