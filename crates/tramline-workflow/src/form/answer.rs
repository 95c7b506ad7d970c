//! The content of an answer: completed, converted from texts, and checked against the schema.

use super::{FORM_ANSWER_BYTES_MAX, FormQuestion, form_fields, initial_value};
use crate::schema::Checker;
use crate::text::nearest;
use tramline_expr::{Map, Offload, Str, Value};

/// The answer with the form's initial values for the fields that it leaves out. A field that is
/// `null` counts as left out, unless its schema allows it.
pub fn complete_content(question: &FormQuestion, content: Value) -> Value {
    let Value::Object(given) = &content else {
        return content;
    };
    let mut map = Map::new();
    for (name, value) in given.iter() {
        if !value.is_null() || allows_null(question, name) {
            map.insert(name.clone(), value.clone());
        }
    }
    let fields = question.schema.get("properties").and_then(Value::as_object);
    for name in fields.into_iter().flat_map(|fields| fields.keys()) {
        if !given.contains_key(name)
            && let Some(initial) = initial_value(question, name)
        {
            map.insert(name.clone(), initial.clone());
        }
    }
    map.into()
}

fn field_of<'q>(question: &'q FormQuestion, name: &str) -> Option<&'q Value> {
    question.schema.get("properties")?.get(name)
}

fn allows_null(question: &FormQuestion, name: &str) -> bool {
    let Some(field) = field_of(question, name) else {
        return true;
    };
    let checker = Checker::new(field);
    checker.is_ok_and(|checker| checker.check(&Value::Null).is_ok())
}

/// Checks an answer against the schema of its form. The message names the field.
pub fn check_content(
    question: &FormQuestion,
    content: &Value,
    long: Offload,
) -> Result<(), String> {
    let Some(map) = content.as_object() else {
        return Err(format!(
            "the answer must be an object with the fields of the form, not {}",
            content.kind()
        ));
    };
    let bytes = content.to_json().len();
    if bytes > FORM_ANSWER_BYTES_MAX {
        return Err(format!(
            "the answer has {bytes} bytes, more than the limit of {FORM_ANSWER_BYTES_MAX}"
        ));
    }
    let mut wrong = Vec::new();
    if !takes_other_fields(&question.schema) {
        let known = question.schema.get("properties").and_then(Value::as_object);
        for name in map.keys() {
            if known.is_some_and(|known| !known.contains_key(name)) {
                let names = known.into_iter().flat_map(|known| known.keys());
                let near = nearest(name, names.map(Str::as_str));
                let hint =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                wrong.push(format!("`{name}` is not a field of this form{hint}"));
            }
        }
    }
    let required = question.schema.get("required").and_then(Value::as_array);
    let required = required.unwrap_or_default().iter();
    let missing: Vec<_> = required
        .filter_map(Value::as_str)
        .filter(|name| !map.contains_key(name))
        .collect();
    wrong.extend(missing.iter().map(|name| format!("`{name}` is required")));
    let checker = Checker::new(&question.schema)
        .map_err(|bad| format!("the schema of the form is invalid: {bad}"))?;
    if let Err(faults) = checker.check_with(content, long) {
        for (place, message) in faults {
            let field = field_name(&place);
            // A missing field is named above.
            if field.is_empty() && !missing.is_empty() {
                continue;
            }
            wrong.push(match field.as_str() {
                "" => message,
                field => format!("`{field}`: {message}"),
            });
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the answer does not fit the form: {}",
            wrong.join("; ")
        )),
    }
}

/// A JSON pointer as the name of a field, such as `address.city`.
fn field_name(place: &str) -> String {
    let steps = place.split('/').skip(1);
    let steps: Vec<_> = steps
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    steps.join(".")
}

/// Whether a schema says that it takes fields that it does not name.
fn takes_other_fields(schema: &Value) -> bool {
    let others = schema.get("additionalProperties");
    others.is_some_and(|others| others.as_bool() != Some(false))
        || schema.get("patternProperties").is_some()
}

/// The answer in a form that a client returned: fields that were filled in as JSON text are read.
pub fn content_from_texts(question: &FormQuestion, content: &Value) -> Result<Value, String> {
    let Some(given) = content.as_object() else {
        return Ok(content.clone());
    };
    let fields = form_fields(question);
    let mut map = Map::new();
    for (name, value) in given.iter() {
        let field = fields.iter().find(|field| field.name == *name);
        let is_json = field.is_some_and(|field| field.is_json);
        let text = value.as_str().filter(|_| is_json);
        let value = match text {
            Some(text) if text.trim().is_empty() => continue,
            Some(text) => {
                Value::from_json(text).map_err(|bad| format!("`{name}` is not JSON: {bad}"))?
            }
            // An optional text that was left empty.
            None if value.as_str() == Some("")
                && field.is_some_and(|field| !field.is_required)
                && !fits(question, name, value) =>
            {
                continue;
            }
            None => value.clone(),
        };
        map.insert(name.clone(), value);
    }
    Ok(map.into())
}

/// The answer in pairs of a field and its text, as typed on a command line: numbers, yes or no and
/// lists are read by the field's type.
pub fn content_from_pairs(
    question: &FormQuestion,
    pairs: &[(String, String)],
) -> Result<Value, String> {
    let mut map = Map::new();
    for (name, text) in pairs {
        let value = typed_value(question, name, text)?;
        map.insert(name.as_str(), value);
    }
    Ok(map.into())
}

fn typed_value(question: &FormQuestion, name: &str, text: &str) -> Result<Value, String> {
    let plain = Value::from(text);
    if fits(question, name, &plain) {
        return Ok(plain);
    }
    let kind = field_of(question, name).and_then(|field| field.get("type")?.as_str());
    match (kind, text.trim().to_lowercase().as_str()) {
        (Some("boolean"), "y" | "yes" | "true" | "on" | "1") => return Ok(true.into()),
        (Some("boolean"), "n" | "no" | "false" | "off" | "0") => return Ok(false.into()),
        _ => {}
    }
    match Value::from_json(text.trim()) {
        Ok(value) if value.as_str().is_none() => Ok(value),
        // A list may be typed without brackets.
        Ok(_) | Err(_) if kind == Some("array") => {
            let items = text.split(',').map(str::trim).filter(|it| !it.is_empty());
            Ok(Value::array(items.map(Value::from)))
        }
        Ok(_) | Err(_) => Ok(plain),
    }
}

/// Checks the value of one field. The message names it.
pub fn check_field(question: &FormQuestion, name: &str, value: &Value) -> Result<(), String> {
    let Some(field) = field_of(question, name) else {
        return Ok(());
    };
    let checker = Checker::new(field).map_err(|bad| format!("`{name}`: {bad}"))?;
    checker.check(value).map_err(|faults| {
        let faults: Vec<_> = faults.into_iter().map(|(_, message)| message).collect();
        format!("`{name}`: {}", faults.join("; "))
    })
}

/// Whether a value fits the schema of a field. Unknown fields are reported later.
fn fits(question: &FormQuestion, name: &str, value: &Value) -> bool {
    let checker = field_of(question, name).map(Checker::new);
    checker.is_none_or(|checker| checker.is_ok_and(|checker| checker.check(value).is_ok()))
}
