//! Suggestions for arguments that do not match a schema: known fields, and likely typos.

use tramline_expr::{Str, Value};
use tramline_workflow::text::{display_name, nearest};

/// Maximum number of fields listed.
const FIELDS_MAX: usize = 30;

/// Suggested fixes.
pub(super) fn suggest_fixes(schema: &Value, given: &Value) -> Vec<String> {
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
            hints.push(format!("write `{near}` instead of `{}`", display_name(key)));
        }
    }
    for name in required(schema) {
        if !has(name) && !meant.contains(&name) {
            let kind = fields
                .and_then(|map| map.get(name))
                .map_or("any", type_name);
            hints.push(format!("add `{name}` ({kind})"));
        }
    }
    if let Some(told) = describe_fields(schema) {
        hints.push(told);
    }
    hints
}

/// The fields of a schema in one line.
pub(super) fn describe_fields(schema: &Value) -> Option<String> {
    let fields = schema.get("properties").and_then(Value::as_object)?;
    let required: Vec<_> = required(schema).collect();
    let told = fields.iter().take(FIELDS_MAX).map(|(name, field)| {
        let must = match required.contains(&name.as_str()) {
            true => ", required",
            false => "",
        };
        format!("{name} ({}{must})", type_name(field))
    });
    let told: Vec<_> = told.collect();
    match told.is_empty() {
        true => Some("no fields are allowed".to_owned()),
        false => Some(format!("fields: {}", told.join(", "))),
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.unwrap_or_default().iter().filter_map(Value::as_str)
}

fn type_name(field: &Value) -> &str {
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
        let hints = suggest_fixes(&schema, &given);
        assert_eq!(hints[0], "write `path` instead of `pth`");
        assert_eq!(hints[1], "fields: path (string, required), head (integer)");
        let hints = suggest_fixes(&schema, &Value::object::<Str>([]));
        assert_eq!(hints[0], "add `path` (string)");
    }
}
