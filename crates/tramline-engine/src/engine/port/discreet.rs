//! A run's file without secrets: searched as the values it holds, so that no spelling of JSON hides one.

use super::{Engine, Fault, bad};
use crate::settings::Settings;
use tramline_core::{Map, Str, Value};

/// What holds values of tools and people. Elsewhere numbers are times, places and counts, which a
/// short secret may be a part of by chance and which a journal cannot do without.
const VALUES: [&str; 20] = [
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
    /// The text of such a file without the secrets that are known now.
    pub(super) async fn discreet_file(&self, text: String) -> Result<String, Fault> {
        let Some(settings) = self.settings() else {
            return Ok(text);
        };
        // Where they cannot be read now, calls fail and say so.
        let _ = settings.refresh().await;
        let value = Value::from_json(&text).map_err(|error| bad(error.to_string()))?;
        Ok(without(settings, &value).to_json())
    }
}

/// The same without secrets.
fn without(settings: &Settings, value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(_) => settings.redact(value.clone()),
        Value::Array(items) => Value::array(items.iter().map(|item| without(settings, item))),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| field(settings, key, value))
            .collect::<Map>()
            .into(),
    }
}

fn field(settings: &Settings, key: &Str, value: &Value) -> (Str, Value) {
    let value = match VALUES.contains(&key.as_str()) {
        true => settings.redact(value.clone()),
        false => without(settings, value),
    };
    (settings.redact_text(key).as_ref().into(), value)
}
