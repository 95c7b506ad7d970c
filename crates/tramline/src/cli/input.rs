//! A run's input from the command line: `key=value` pairs typed by the schema, or whole as JSON.

use super::CliError;
use crate::config::read_bounded;
use std::io::Read;
use std::path::Path;
use tramline_expr::{Map, Value};
use tramline_workflow::text::io_reason;

/// The largest input, in bytes.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Reads `--input`: JSON, `@file` or `-` for standard input.
pub(super) fn read_input(given: &str) -> Result<Value, CliError> {
    let text = if given == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(INPUT_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(|error| {
                CliError::bad_input(format!("cannot read standard input: {}", io_reason(&error)))
            })?;
        text
    } else if let Some(path) = given.strip_prefix('@') {
        let bytes = read_bounded(Path::new(path), INPUT_BYTES_MAX).map_err(CliError::bad_input)?;
        String::from_utf8(bytes).map_err(|_| CliError::bad_input(format!("{path} is not text")))?
    } else {
        given.to_owned()
    };
    Value::from_json(&text).map_err(|error| {
        let hint = "--input takes JSON, @file or -; single values can be given as key=value";
        CliError::bad_input(format!("the input is not JSON: {error} ({hint})"))
    })
}

/// Adds `key=value` pairs to an input object.
pub(super) fn merge_pairs(
    whole: Value,
    pairs: &[String],
    schema: Option<&Value>,
) -> Result<Value, CliError> {
    if pairs.is_empty() {
        return Ok(whole);
    }
    let mut map = match whole {
        Value::Object(map) => Map::clone(&map),
        Value::Null => Map::new(),
        other => {
            let message = format!(
                "--input is {}; key=value pairs need an object",
                other.kind()
            );
            return Err(CliError::bad_input(message));
        }
    };
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(CliError::bad_input(format!(
                "`{pair}` is not a key=value pair"
            )));
        };
        map.insert(
            key,
            parse_typed(
                text,
                schema.and_then(|schema| schema.get("properties")?.get(key)),
            ),
        );
    }
    Ok(map.into())
}

/// Keeps text as text if the schema expects a string; otherwise parses JSON.
fn parse_typed(text: &str, schema: Option<&Value>) -> Value {
    let wanted = schema
        .and_then(|schema| schema.get("type"))
        .and_then(Value::as_str);
    match wanted {
        Some("string") => text.into(),
        _ => Value::from_json(text).unwrap_or_else(|_| text.into()),
    }
}
