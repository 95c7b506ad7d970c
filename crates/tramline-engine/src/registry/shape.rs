//! The shape of an output: every path in it with its type and one example, as templates write it.

use std::collections::BTreeMap;
use tramline_core::{Str, Value};

/// So many paths are told: enough to write a workflow by, few enough to read.
const PATHS_MAX: usize = 200;
/// Deeper parts are not told.
const DEPTH_MAX: usize = 12;
/// So many items of a list are looked at: they are alike.
const ITEMS_MAX: usize = 50;
/// Examples are cut here, in characters.
const EXAMPLE_CHARS_MAX: usize = 80;

/// One path into an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// How the part is reached: `entries[0].name`. Empty for the whole.
    pub path: String,
    /// Its types, the first seen first: `string`, or `string|null`.
    pub kind: String,
    /// One value that it had.
    pub example: Option<Value>,
}

/// The paths of a value, in the order of the value, and whether there are more.
pub fn shape(value: &Value) -> (Vec<Path>, bool) {
    let mut walk = Walk::default();
    walk.visit(String::new(), value, 0);
    (walk.paths, walk.more)
}

#[derive(Default)]
struct Walk {
    paths: Vec<Path>,
    places: BTreeMap<String, usize>,
    more: bool,
}

impl Walk {
    fn visit(&mut self, path: String, value: &Value, depth: usize) {
        if !self.note(&path, value) {
            return;
        }
        if depth >= DEPTH_MAX {
            self.more |= matches!(value, Value::Object(_) | Value::Array(_));
            return;
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    self.visit(member(&path, key), value, depth + 1);
                }
            }
            // All items share the place of the first: what is reached in one is reached in others.
            Value::Array(items) => {
                for item in items.iter().take(ITEMS_MAX) {
                    self.visit(format!("{path}[0]"), item, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Takes note of a part; whether there was room for it.
    fn note(&mut self, path: &str, value: &Value) -> bool {
        let kind = kind(value);
        if let Some(at) = self.places.get(path) {
            let known = &mut self.paths[*at];
            if !known.kind.split('|').any(|one| one == kind) {
                known.kind = format!("{}|{kind}", known.kind);
            }
            if known.example.is_none() {
                known.example = example(value);
            }
            return true;
        }
        if self.paths.len() >= PATHS_MAX {
            self.more = true;
            return false;
        }
        self.places.insert(path.to_owned(), self.paths.len());
        self.paths.push(Path {
            path: path.to_owned(),
            kind: kind.to_owned(),
            example: example(value),
        });
        true
    }
}

/// The type as JSON Schema calls it.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn member(path: &str, key: &Str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '$';
    match (path, key.chars().all(plain) && !key.is_empty()) {
        ("", true) => key.to_string(),
        (path, true) => format!("{path}.{key}"),
        (path, false) => format!("{path}[{}]", Value::from(key.clone()).to_json()),
    }
}

/// A value as an example: parts of it have examples of their own.
fn example(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) | Value::Array(_) | Value::Null => None,
        Value::Bool(_) | Value::Number(_) => Some(value.clone()),
        Value::String(text) => Some(match text.char_indices().nth(EXAMPLE_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &text[..at]).into(),
            None => value.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_type_and_one_example() {
        let value = Value::from_json(
            r#"{"path":"/a","entries":[{"name":"x","size":3},{"name":null,"size":4}],"odd key":true,"none":[]}"#,
        )
        .unwrap();
        let (paths, more) = shape(&value);
        assert!(!more);
        let told: Vec<_> = paths
            .iter()
            .map(|path| {
                let example = path.example.as_ref().map(Value::to_json);
                (
                    path.path.as_str(),
                    path.kind.as_str(),
                    example.unwrap_or_default(),
                )
            })
            .collect();
        let expected = [
            ("", "object", ""),
            ("path", "string", "\"/a\""),
            ("entries", "array", ""),
            ("entries[0]", "object", ""),
            ("entries[0].name", "string|null", "\"x\""),
            ("entries[0].size", "number", "3"),
            ("[\"odd key\"]", "boolean", "true"),
            ("none", "array", ""),
        ];
        assert_eq!(told, expected.map(|(a, b, c)| (a, b, c.to_owned())));
    }

    #[test]
    fn however_much_there_is_the_shape_stays_small() {
        let wide =
            Value::object((0..5_000).map(|n| (format!("k{n}"), Value::from("x".repeat(500)))));
        let (paths, more) = shape(&wide);
        assert_eq!((paths.len(), more), (PATHS_MAX, true));
        assert!(
            paths[1]
                .example
                .as_ref()
                .unwrap()
                .as_str()
                .unwrap()
                .chars()
                .count()
                <= 81
        );
        let deep = (0..100).fold(Value::Null, |value, _| Value::array([value]));
        assert!(shape(&deep).1);
    }
}
