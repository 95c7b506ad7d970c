//! Checks the schema of a form.

use crate::schema::Checker;
use tramline_expr::Value;

/// Fields of a form; more do not fit on a page that a person reads.
pub const FORM_FIELDS_MAX: usize = 100;
/// Bytes of JSON of a form's schema; every question records it.
pub const FORM_SCHEMA_BYTES_MAX: usize = 64 << 10;

/// Checks the schema of an answer: an object whose fields are named. Says what is wrong, with the
/// location in the schema.
pub fn check_form_schema(schema: &Value) -> Result<(), (String, String)> {
    let wrong = |place: &str, says: String| Err((place.to_owned(), says));
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return wrong(
            "",
            "the answer must be an object: write `type: object`".into(),
        );
    }
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return wrong("", "`properties` must name the fields of the form".into());
    };
    if fields.is_empty() || fields.len() > FORM_FIELDS_MAX {
        let count = fields.len();
        return wrong(
            "/properties",
            format!("a form has 1 to {FORM_FIELDS_MAX} fields, not {count}"),
        );
    }
    let bytes = schema.to_json().len();
    if bytes > FORM_SCHEMA_BYTES_MAX {
        return wrong(
            "",
            format!(
                "{bytes} bytes exceed the limit of {FORM_SCHEMA_BYTES_MAX} for the schema of a form"
            ),
        );
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
    {
        if !fields.contains_key(name) {
            return wrong("/required", format!("`{name}` is required but not a field"));
        }
    }
    match Checker::new(schema) {
        Ok(_) => Ok(()),
        Err(bad) => Err((bad.pointer, bad.message)),
    }
}
