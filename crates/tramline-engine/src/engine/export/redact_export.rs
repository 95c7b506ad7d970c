//! Redaction of an export file: its values are searched, so that JSON escapes cannot hide a secret.

use super::{Engine, Fault, invalid_file};
use crate::settings::Settings;
use std::borrow::Cow;
use tramline_expr::{Map, Str, Value};

/// The fields that contain values of tools and people. Numbers in other fields are times, sequence
/// numbers and counts, which a short secret may match by chance and which a journal needs.
const VALUE_FIELDS: [&str; 20] = [
    "arguments",
    "condition",
    "data",
    "evidence",
    "examples",
    "guard",
    "input",
    "input_schema",
    "items",
    "literal",
    "model",
    "operands",
    "options",
    "origin",
    "output",
    "output_schema",
    "result",
    "rule",
    "servers",
    "Slots",
];

impl Engine {
    /// The text of an export file with known secrets redacted.
    pub(super) async fn redact_file(&self, text: String) -> Result<String, Fault> {
        self.refresh_settings().await;
        match redact(self.settings(), &text).map_err(invalid_file)? {
            Cow::Borrowed(_) => Ok(text),
            Cow::Owned(redacted) => Ok(redacted),
        }
    }

    /// Reads settings that another process may have changed.
    pub(super) async fn refresh_settings(&self) {
        if let Some(settings) = self.settings() {
            // If they cannot be read now, the calls that need them fail with a message.
            let _ = settings.refresh().await;
        }
    }
}

/// A JSON text with known secrets redacted.
pub(super) fn redact<'a>(
    settings: Option<&Settings>,
    text: &'a str,
) -> Result<Cow<'a, str>, String> {
    let Some(settings) = settings else {
        return Ok(Cow::Borrowed(text));
    };
    let value = Value::from_json(text).map_err(|error| error.to_string())?;
    Ok(Cow::Owned(redact_fields(settings, &value).to_json()))
}

/// The same value with secrets redacted.
fn redact_fields(settings: &Settings, value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(_) => settings.redact(value.clone()),
        Value::Array(items) => Value::array(items.iter().map(|item| redact_fields(settings, item))),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| redact_field(settings, key, value))
            .collect::<Map>()
            .into(),
    }
}

fn redact_field(settings: &Settings, key: &Str, value: &Value) -> (Str, Value) {
    let value = match VALUE_FIELDS.contains(&key.as_str()) {
        true => settings.redact(value.clone()),
        false => redact_fields(settings, value),
    };
    (settings.redact_text(key).as_ref().into(), value)
}
