//! Fills in the defaults that a schema declares.

use tramline_expr::{Map, Value};

/// Levels of nested objects whose defaults are filled in.
const DEPTH_MAX: usize = 8;

/// The value with the defaults of the properties that it does not have. Objects that are missing
/// are not made up, unless they have a default themselves.
pub fn with_defaults(schema: &Value, value: Value) -> Value {
    fill(schema, value, 0)
}

fn fill(schema: &Value, value: Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (Some(properties), Value::Object(given)) = (properties, &value) else {
        return value;
    };
    if depth > DEPTH_MAX {
        return value;
    }
    let mut changed: Option<Map> = None;
    for (name, part) in properties.iter() {
        let filled = match (given.get(name), part.get("default")) {
            (None, Some(default)) => default.clone(),
            (None, None) => continue,
            (Some(old), _) => {
                let new = fill(part, old.clone(), depth + 1);
                if new == *old {
                    continue;
                }
                new
            }
        };
        let map = changed.get_or_insert_with(|| Map::clone(given));
        map.insert(name.clone(), filled);
    }
    changed.map_or(value, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_properties_get_their_defaults() {
        let schema = Value::from_json(
            r#"{"type":"object","properties":{"a":{"default":1},"b":{"type":"string"},
                "c":{"type":"object","properties":{"d":{"default":[]}}}}}"#,
        )
        .unwrap();
        for (given, wanted) in [
            ("{}", r#"{"a":1}"#),
            (r#"{"a":null}"#, r#"{"a":null}"#),
            (r#"{"c":{}}"#, r#"{"c":{"d":[]},"a":1}"#),
            ("[]", "[]"),
        ] {
            let filled = with_defaults(&schema, Value::from_json(given).unwrap());
            assert_eq!(filled.to_json(), wanted);
        }
    }
}
