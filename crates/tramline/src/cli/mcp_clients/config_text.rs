//! A client's configuration as text: read, changed in one place, and compared before it is written.

use super::{jsonc, toml_text, yaml_text};
use serde_json::Value;
use std::fmt;

/// How a configuration file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON, with comments and trailing commas where the client allows them.
    Json,
    Toml,
    Yaml,
}

/// What is wrong in a file, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    /// From 1.
    pub(super) line: usize,
    /// From 1, in characters.
    pub(super) column: usize,
    pub(super) message: String,
}

impl Malformed {
    /// At this byte of a text.
    pub(super) fn at(text: &str, byte: usize, message: &str) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: message.to_owned(),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl Syntax {
    /// The value of a file. An empty file has no entries.
    pub(super) fn parse(self, text: &str) -> Result<Value, Malformed> {
        if text.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        let value = match self {
            Self::Json => jsonc::parse(text),
            Self::Toml => toml_text::parse(text),
            Self::Yaml => yaml_text::parse(text),
        }?;
        match value {
            Value::Null => Ok(Value::Object(serde_json::Map::new())),
            Value::Object(_) => Ok(value),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let start = text.len() - text.trim_start().len();
                Err(Malformed::at(text, start, "the file is not an object"))
            }
        }
    }

    /// The text with this value at this path, everything else unchanged.
    pub(super) fn set(self, text: &str, path: &[&str], value: &Value) -> Result<String, Malformed> {
        let mut expected = self.parse(text)?;
        set_value(&mut expected, path, value)
            .ok_or_else(|| Malformed::at(text, 0, &format!("`{}` is not an object", path[0])))?;
        let blank = text.trim().is_empty();
        let edited = match self {
            Self::Json if blank => jsonc::set("{}\n", path, value),
            Self::Json => jsonc::set(text, path, value),
            Self::Toml => toml_text::set(text, path, value),
            Self::Yaml => yaml_text::set(text, path, value),
        }?;
        self.verified(text, edited, &expected, path)
    }

    /// The text without the entry at this path, everything else unchanged.
    pub(super) fn remove(self, text: &str, path: &[&str]) -> Result<String, Malformed> {
        let mut expected = self.parse(text)?;
        remove_value(&mut expected, path);
        let edited = match self {
            Self::Json => jsonc::remove(text, path),
            Self::Toml => toml_text::remove(text, path),
            Self::Yaml => yaml_text::remove(text, path),
        }?;
        self.verified(text, edited, &expected, path)
    }

    /// An edit is only used if it changed exactly what it should.
    fn verified(
        self,
        before: &str,
        edited: String,
        expected: &Value,
        path: &[&str],
    ) -> Result<String, Malformed> {
        let cannot = || {
            let place = before.find(path[0]).unwrap_or_default();
            let path = path.join(".");
            let message = format!(
                "`{path}` is written in a form that cannot be edited safely; change it by hand"
            );
            Malformed::at(before, place, &message)
        };
        match self.parse(&edited) {
            Ok(found) if without_empty(&found, path) == without_empty(expected, path) => Ok(edited),
            Ok(_) | Err(_) => Err(cannot()),
        }
    }
}

/// The value, without the containers of the path if they are empty: formats differ in whether an
/// empty one is written.
fn without_empty(value: &Value, path: &[&str]) -> Value {
    let mut value = value.clone();
    for end in (1..path.len()).rev() {
        let pointer = format!("/{}", path[..end].join("/"));
        let empty = value.pointer(&pointer).is_some_and(|found| match found {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
        });
        if empty {
            remove_value(&mut value, &path[..end]);
        }
    }
    value
}

fn set_value(root: &mut Value, path: &[&str], value: &Value) -> Option<()> {
    let (last, above) = path.split_last()?;
    let mut at = root;
    for key in above {
        if at.is_null() {
            *at = Value::Object(serde_json::Map::new());
        }
        at = at.as_object_mut()?.entry(*key).or_insert(Value::Null);
    }
    if at.is_null() {
        *at = Value::Object(serde_json::Map::new());
    }
    at.as_object_mut()?
        .insert((*last).to_owned(), value.clone());
    Some(())
}

fn remove_value(root: &mut Value, path: &[&str]) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let mut at = Some(root);
    for key in above {
        at = at.and_then(|value| value.get_mut(*key));
    }
    if let Some(fields) = at.and_then(Value::as_object_mut) {
        fields.shift_remove(*last);
    }
}
