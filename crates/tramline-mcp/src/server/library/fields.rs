//! What would mend arguments that do not fit a schema: the fields there are, and which was meant.

use tramline_core::text::{nearest, shown};
use tramline_core::{Str, Value};

/// So many fields are told.
const FIELDS_MAX: usize = 30;

/// What to write instead.
pub(super) fn mending(schema: &Value, given: &Value) -> Vec<String> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let known: Vec<&Str> = fields.into_iter().flat_map(|map| map.keys()).collect();
    let mut hints = Vec::new();
    let has = |name: &str| given.get(name).is_some();
    let mut meant: Vec<&str> = Vec::new();
    for key in given.as_object().into_iter().flat_map(|map| map.keys()) {
        if known.contains(&key) {
            continue;
        }
        let free = known
            .iter()
            .map(|name| name.as_str())
            .filter(|name| !has(name));
        if let Some(near) = nearest(key, free) {
            meant.push(near);
            hints.push(format!("write `{near}` instead of `{}`", shown(key)));
        }
    }
    for name in required(schema) {
        if !has(name) && !meant.contains(&name) {
            let kind = fields.and_then(|map| map.get(name)).map_or("any", kind);
            hints.push(format!("add `{name}` ({kind})"));
        }
    }
    if let Some(told) = told(schema) {
        hints.push(told);
    }
    hints
}

/// The fields of a schema in one line.
pub(super) fn told(schema: &Value) -> Option<String> {
    let fields = schema.get("properties").and_then(Value::as_object)?;
    let required: Vec<_> = required(schema).collect();
    let told = fields.iter().take(FIELDS_MAX).map(|(name, field)| {
        let must = match required.contains(&name.as_str()) {
            true => ", required",
            false => "",
        };
        format!("{name} ({}{must})", kind(field))
    });
    let told: Vec<_> = told.collect();
    match told.is_empty() {
        true => Some("it takes no fields".to_owned()),
        false => Some(format!("it takes {}", told.join(", "))),
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.unwrap_or_default().iter().filter_map(Value::as_str)
}

fn kind(field: &Value) -> &str {
    match field.get("type").and_then(Value::as_str) {
        Some(kind) => kind,
        None if field.get("enum").is_some() => "enum",
        None => "any",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_and_what_is_missing_are_told() {
        let schema = Value::from_json(
            r#"{"properties":{"path":{"type":"string"},"head":{"type":"integer"}},"required":["path"]}"#,
        )
        .unwrap();
        let given = Value::object([("pth", "x".into())]);
        let hints = mending(&schema, &given);
        assert_eq!(hints[0], "write `path` instead of `pth`");
        assert_eq!(hints[1], "it takes path (string, required), head (integer)");
        let hints = mending(&schema, &Value::object::<Str>([]));
        assert_eq!(hints[0], "add `path` (string)");
    }
}
