//! A run's input from the command line: `key=value` by the schema's types, or whole as JSON.

use super::Stopped;
use crate::config::read_bounded;
use std::io::Read;
use std::path::Path;
use tramline_core::{Map, Value};

/// Larger inputs are refused.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Reads `--input`: JSON, `@file` or `-` for standard input.
pub(super) fn whole(given: &str) -> Result<Value, Stopped> {
    let text = if given == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(INPUT_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(|error| Stopped::bad(format!("standard input cannot be read: {error}")))?;
        text
    } else if let Some(path) = given.strip_prefix('@') {
        let bytes = read_bounded(Path::new(path), INPUT_BYTES_MAX).map_err(Stopped::bad)?;
        String::from_utf8(bytes).map_err(|_| Stopped::bad(format!("{path} is not text")))?
    } else {
        given.to_owned()
    };
    Value::from_json(&text).map_err(|error| {
        let hint = "--input takes JSON, @file or -; single values can be given as key=value";
        Stopped::bad(format!("the input is not JSON: {error} ({hint})"))
    })
}

/// Adds `key=value` pairs to an input object.
pub(super) fn pairs(
    whole: Value,
    pairs: &[String],
    schema: Option<&Value>,
) -> Result<Value, Stopped> {
    if pairs.is_empty() {
        return Ok(whole);
    }
    let mut map = match whole {
        Value::Object(map) => Map::clone(&map),
        Value::Null => Map::new(),
        other => {
            let message = format!(
                "--input gives {}, to which no key=value can be added",
                other.kind()
            );
            return Err(Stopped::bad(message));
        }
    };
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Stopped::bad(format!("`{pair}` is no key=value")));
        };
        map.insert(
            key,
            typed(
                text,
                schema.and_then(|schema| schema.get("properties")?.get(key)),
            ),
        );
    }
    Ok(map.into())
}

/// Text stays text where the schema wants text; elsewhere JSON is read as JSON.
fn typed(text: &str, schema: Option<&Value>) -> Value {
    let wanted = schema
        .and_then(|schema| schema.get("type"))
        .and_then(Value::as_str);
    match wanted {
        Some("string") => text.into(),
        _ => Value::from_json(text).unwrap_or_else(|_| text.into()),
    }
}
