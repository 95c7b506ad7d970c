//! Redacted values in the history of a session: a rule that reads one cannot be decided.
//!
//! Rules judge the real arguments of a call, but the journal keeps secrets only by name. In the
//! history each redacted value is therefore masked, and masks are recognized wherever a rule reads
//! them: otherwise a value could pass a rule by being made a secret.

use tramline_expr::{Explanation, Map, RuleExplanation, Str, Value};
use tramline_workflow::explanation::ExplanationNode;

/// The first character of a masked value, which is invisible where it is displayed.
const MASK: char = '\u{2063}';
/// The start of the placeholder for a secret, which journals of earlier versions do not list.
const PLACEHOLDER: &str = "[redacted:";
/// The end of a value that an explanation shows only in part.
const ELLIPSIS: char = '…';
/// Parts of an evaluation; the evaluator omits the rest, so a read could be missed.
const PARTS_MAX: usize = 1_990;

/// The places where a written value differs from the real one, as JSON pointers.
pub(super) fn differing_places(real: &Value, written: &Value) -> Vec<Str> {
    let mut places = Vec::new();
    compare(real, written, "", &mut places);
    places
}

fn compare(real: &Value, written: &Value, place: &str, places: &mut Vec<Str>) {
    match (real, written) {
        (Value::Object(one), Value::Object(other))
            if one.len() == other.len() && one.iter().all(|(key, _)| other.get(key).is_some()) =>
        {
            for (key, value) in one.iter() {
                let below = format!("{place}/{}", escape(key));
                compare(
                    value,
                    other.get(key).unwrap_or(&Value::Null),
                    &below,
                    places,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (value, other)) in one.iter().zip(other.iter()).enumerate() {
                compare(value, other, &format!("{place}/{at}"), places);
            }
        }
        (one, other) if one == other => {}
        _ => places.push(place.into()),
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A written value with its redacted places masked.
pub(super) fn masked(value: &Value, places: &[Str]) -> Value {
    match places.is_empty() && !value.to_json().contains(PLACEHOLDER) {
        true => value.clone(),
        false => mask(value, places, ""),
    }
}

fn mask(value: &Value, places: &[Str], place: &str) -> Value {
    if places.iter().any(|it| it == place) {
        return hidden(value);
    }
    match value {
        Value::String(text) if text.contains(PLACEHOLDER) => hidden(value),
        Value::Object(map) if map.keys().any(|key| key.contains(PLACEHOLDER)) => hidden(value),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| {
                let below = format!("{place}/{}", escape(key));
                (key.clone(), mask(value, places, &below))
            });
            fields.collect::<Map>().into()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Value::array(items.map(|(at, item)| mask(item, places, &format!("{place}/{at}"))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn hidden(value: &Value) -> Value {
    match value {
        Value::String(text) => format!("{MASK}{text}").into(),
        _ => format!("{MASK}[redacted]").into(),
    }
}

/// Whether a value is or contains a masked one.
pub(super) fn has_mask(value: &Value) -> bool {
    any_text(value, &|text| text.starts_with(MASK))
}

/// Whether a value may contain a masked one, if it may be shown only in part.
fn may_have_mask(value: &Value) -> bool {
    any_text(value, &|text| {
        text.starts_with(MASK) || text.ends_with(ELLIPSIS)
    })
}

fn any_text(value: &Value, fits: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => fits(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, fits)),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| fits(key) || any_text(value, fits)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a real value may be the one that was written: masked places can have been anything.
pub(crate) fn may_equal(masked: &Value, real: &Value) -> bool {
    match (masked, real) {
        (Value::String(text), _) if text.starts_with(MASK) => true,
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| may_equal(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(a, b)| may_equal(a, b))
        }
        _ => masked == real,
    }
}

/// Whether an evaluation of an expression read a masked value.
pub(super) fn expression_reads_mask(tree: &ExplanationNode) -> bool {
    let mut parts = 0;
    reads_mask(tree, false, &mut parts) || parts >= PARTS_MAX
}

/// `is_unread`: the value is only counted, or is a step on the way to the value of a path.
fn reads_mask(tree: &ExplanationNode, is_unread: bool, parts: &mut usize) -> bool {
    *parts += 1;
    if !is_unread && tree.value.as_ref().is_some_and(may_have_mask) {
        return true;
    }
    let head = tree.what.split(['.', '[']).next().unwrap_or_default();
    let first = tree.children.first().map(|it| it.what.as_str());
    let is_path = first == Some(head) && tree.what.len() > head.len();
    let is_counted = ["$count(", "$exists("]
        .iter()
        .any(|it| tree.what.starts_with(it));
    tree.children
        .iter()
        .any(|it| reads_mask(it, is_path || is_counted, parts))
}

/// Whether an evaluation of a JSON Logic rule read a masked value.
pub(super) fn rule_reads_mask(told: &RuleExplanation) -> bool {
    let reads = told.operator == "var" && told.value.as_ref().is_some_and(may_have_mask);
    reads
        || told.expression.as_ref().is_some_and(explained_mask)
        || told.children.iter().any(rule_reads_mask)
}

/// Whether any part of a `var`'s expression has a masked value.
fn explained_mask(told: &Explanation) -> bool {
    told.value.as_ref().is_some_and(may_have_mask) || told.children.iter().any(explained_mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn what_differs_is_masked_and_can_have_been_anything() {
        let real = json(r#"{"a/b": ["x", {"to": "acct", "n": 1}], "c": 5}"#);
        let written = json(r#"{"a/b": ["x", {"to": "[redacted:k]", "n": 1}], "c": 5}"#);
        let places = differing_places(&real, &written);
        assert_eq!(places, ["/a~1b/1/to"]);
        let hidden = masked(&written, &places);
        assert!(has_mask(&hidden) && !has_mask(&written));
        assert!(may_equal(&hidden, &real));
        let other = json(r#"{"a/b": ["y", {"to": "acct", "n": 1}], "c": 5}"#);
        assert!(!may_equal(&hidden, &other));
        assert!(differing_places(&real, &real).is_empty());
    }
}
