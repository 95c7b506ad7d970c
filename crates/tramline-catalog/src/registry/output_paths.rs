//! The paths of an output with their types and one example each, in the syntax of templates.

use std::collections::BTreeMap;
use tramline_expr::{Str, Value};

/// Most paths that are returned: enough to write a workflow with, few enough to read.
const PATHS_MAX: usize = 200;
/// Deepest nesting, in levels, that is described.
const DEPTH_MAX: usize = 12;
/// Number of list items that are examined, since items are usually alike.
const ITEMS_MAX: usize = 50;
/// Longest example, in characters. Longer ones are cut.
const EXAMPLE_CHARS_MAX: usize = 80;

/// One path into an output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPath {
    /// The path to the value, such as `entries[0].name`. Empty for the whole output.
    pub path: String,
    /// Its types in order of appearance: `string`, or `string|null`.
    pub kind: String,
    /// One of its values.
    pub example: Option<Value>,
}

/// The paths of a value, in the order of the value, and whether there are more.
pub fn output_paths(value: &Value) -> (Vec<OutputPath>, bool) {
    let mut walk = PathCollector::default();
    walk.visit(String::new(), value, 0);
    (walk.paths, walk.more)
}

#[derive(Default)]
struct PathCollector {
    paths: Vec<OutputPath>,
    places: BTreeMap<String, usize>,
    more: bool,
}

impl PathCollector {
    fn visit(&mut self, path: String, value: &Value, depth: usize) {
        if !self.record(&path, value) {
            return;
        }
        if depth >= DEPTH_MAX {
            self.more |= matches!(value, Value::Object(_) | Value::Array(_));
            return;
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    self.visit(child_path(&path, key), value, depth + 1);
                }
            }
            // All items share the path of the first one: paths in one item usually exist in the others.
            Value::Array(items) => {
                for item in items.iter().take(ITEMS_MAX) {
                    self.visit(format!("{path}[0]"), item, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Records a value; `false` if the limit is reached.
    fn record(&mut self, path: &str, value: &Value) -> bool {
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
        self.paths.push(OutputPath {
            path: path.to_owned(),
            kind: kind.to_owned(),
            example: example(value),
        });
        true
    }
}

/// The JSON Schema type.
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

fn child_path(path: &str, key: &Str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '$';
    match (path, key.chars().all(plain) && !key.is_empty()) {
        ("", true) => key.to_string(),
        (path, true) => format!("{path}.{key}"),
        (path, false) => format!("{path}[{}]", Value::from(key.clone()).to_json()),
    }
}

/// A scalar as an example. Containers have none, since their parts have their own.
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
        let (paths, more) = output_paths(&value);
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
        let (paths, more) = output_paths(&wide);
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
        assert!(output_paths(&deep).1);
    }
}
