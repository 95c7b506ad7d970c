//! The fields of a form, as programs and people fill them in.
//!
//! Clients of the Model Context Protocol draw flat forms only: texts, numbers, yes or no, and choices.
//! A field with another schema is filled in as JSON text.

use super::FormQuestion;
use tramline_expr::{Map, Str, Value};

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// Its name in the answer.
    pub name: Str,
    /// Its schema in the flat subset that clients draw.
    pub schema: Value,
    /// Whether it is filled in as JSON text.
    pub is_json: bool,
    /// Whether the answer must have it.
    pub is_required: bool,
}

/// The words of a schema that people read.
const WORDS: [&str; 2] = ["title", "description"];
/// The formats of texts that clients know.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The fields of a form in the order of its schema.
pub fn form_fields(question: &FormQuestion) -> Vec<FormField> {
    let schema = &question.schema;
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(|fields| fields.iter());
    fields
        .map(|(name, field)| {
            let native = native_field(field);
            let is_json = native.is_none();
            let mut shown = native.unwrap_or_else(|| json_field(field));
            if let Some(initial) = initial_value(question, name)
                && let Some(initial) = drawn_value(&shown, initial, is_json)
            {
                shown.insert("default", initial);
            }
            FormField {
                name: name.clone(),
                schema: shown.into(),
                is_json,
                is_required: required.iter().any(|key| key.as_str() == Some(name)),
            }
        })
        .collect()
}

/// The value with which a field begins.
pub fn initial_value<'q>(question: &'q FormQuestion, name: &str) -> Option<&'q Value> {
    let given = question.defaults.get(name);
    given.or_else(|| {
        let field = question.schema.get("properties")?.get(name)?;
        field.get("default")
    })
}

/// A value as a client draws it; `None` if the field cannot begin with it.
fn drawn_value(shown: &Map, value: &Value, is_json: bool) -> Option<Value> {
    if is_json {
        return Some(value.to_json().into());
    }
    let fits = match shown.get("type").and_then(Value::as_str)? {
        "string" => value.as_str().is_some(),
        "boolean" => value.as_bool().is_some(),
        "integer" => value.as_i64().is_some(),
        "number" => value.as_f64().is_some(),
        "array" => is_text_list(value),
        _ => false,
    };
    fits.then(|| value.clone())
}

fn is_text_list(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
}

/// Copies these keywords.
fn copied(field: &Value, keys: &[&str]) -> Map {
    let mut shown = Map::new();
    for key in keys {
        if let Some(value) = field.get(key) {
            shown.insert(*key, value.clone());
        }
    }
    shown
}

/// A field in the flat subset, if it is one.
fn native_field(field: &Value) -> Option<Map> {
    let mut shown = copied(field, &WORDS);
    // Values that the subset cannot say must not be lost: the field becomes JSON text.
    if ["$ref", "allOf", "not", "if", "const"]
        .iter()
        .any(|key| field.get(key).is_some())
    {
        return None;
    }
    let kind = field.get("type").and_then(Value::as_str)?;
    shown.insert("type", kind.into());
    match kind {
        "string" => {
            if let Some(choices) = titled_choices(field.get("oneOf")) {
                shown.insert("oneOf", choices);
            } else if let Some(values) = field.get("enum") {
                let names = field.get("enumNames").and_then(Value::as_array);
                match names.filter(|_| is_text_list(values)) {
                    Some(names) => shown.insert("oneOf", with_titles(values, names)),
                    None if is_text_list(values) => shown.insert("enum", values.clone()),
                    None => return None,
                };
            } else if field.get("oneOf").is_some() || field.get("anyOf").is_some() {
                return None;
            } else {
                add_text_limits(field, &mut shown);
            }
        }
        "number" | "integer" if field.get("enum").is_none() => {
            for key in ["minimum", "maximum"] {
                if let Some(limit) = field.get(key).filter(|limit| limit.as_f64().is_some()) {
                    shown.insert(key, limit.clone());
                }
            }
        }
        "boolean" => {}
        "array" => {
            let items = field.get("items")?;
            let choices = titled_choices(items.get("anyOf").or_else(|| items.get("oneOf")));
            let items = match choices {
                Some(choices) => Value::object([("anyOf", choices)]),
                None if items.get("enum").is_some_and(is_text_list) => Value::object([
                    ("type", Value::from("string")),
                    ("enum", items.get("enum").cloned().unwrap_or_default()),
                ]),
                None => return None,
            };
            shown.insert("items", items);
            for key in ["minItems", "maxItems"] {
                if let Some(limit) = field.get(key).filter(|limit| limit.as_u64().is_some()) {
                    shown.insert(key, limit.clone());
                }
            }
        }
        _ => return None,
    }
    Some(shown)
}

fn add_text_limits(field: &Value, shown: &mut Map) {
    for key in ["minLength", "maxLength"] {
        if let Some(limit) = field.get(key).filter(|limit| limit.as_u64().is_some()) {
            shown.insert(key, limit.clone());
        }
    }
    let format = field.get("format").and_then(Value::as_str);
    if let Some(format) = format.filter(|format| FORMATS.contains(format)) {
        shown.insert("format", format.into());
    }
}

/// Choices with titles: a list of `const` and `title`.
fn titled_choices(choices: Option<&Value>) -> Option<Value> {
    let choices = choices?.as_array()?;
    let shown = choices.iter().map(|choice| {
        let value = choice.get("const")?.as_str()?;
        let title = choice.get("title").and_then(Value::as_str);
        Some(Value::object([
            ("const", Value::from(value)),
            ("title", title.unwrap_or(value).into()),
        ]))
    });
    let shown: Option<Vec<_>> = shown.collect();
    shown.filter(|shown| !shown.is_empty()).map(Value::array)
}

fn with_titles(values: &Value, names: &[Value]) -> Value {
    let values = values.as_array().unwrap_or_default().iter();
    Value::array(values.enumerate().map(|(at, value)| {
        let title = names.get(at).filter(|name| name.as_str().is_some());
        Value::object([
            ("const", value.clone()),
            ("title", title.unwrap_or(value).clone()),
        ])
    }))
}

/// A field that is filled in as JSON text.
fn json_field(field: &Value) -> Map {
    let mut shown = copied(field, &["title"]);
    let says = field.get("description").and_then(Value::as_str);
    let kind = field.get("type").and_then(Value::as_str);
    let what = match kind {
        Some(kind) => format!("JSON: {kind}"),
        None => "JSON".to_owned(),
    };
    let says = match says {
        Some(says) => format!("{says} ({what})"),
        None => what,
    };
    shown.insert("type", "string".into());
    shown.insert("description", says.into());
    shown
}
