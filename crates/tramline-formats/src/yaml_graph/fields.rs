//! Helpers for the fields of an object: required, optional, typed, unknown.

use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest, resembles};

/// The value of a field, unless it is missing or null.
pub(crate) fn present<'t>(at: Spanned<'t>, key: &str) -> Option<Spanned<'t>> {
    at.get(key).filter(|field| !field.value.is_null())
}

/// The first of several alternative fields that is given.
pub(crate) fn first_present<'t>(
    at: Spanned<'t>,
    keys: &[&'static str],
) -> Option<(&'static str, Spanned<'t>)> {
    keys.iter()
        .find_map(|key| present(at, key).map(|field| (*key, field)))
}

/// Reports a missing field.
pub(crate) fn report_missing(
    at: Spanned<'_>,
    owner: &str,
    key: &str,
    hint: &str,
    flaws: &mut FlawCollector,
) {
    let empty = at.get(key);
    let (place, how) = match empty {
        Some(field) => (field.source_span(), "is empty"),
        None => (at.source_span(), "is missing"),
    };
    let message = format!("the `{key}` of {owner} {how}");
    flaws.add(FlawCode::MissingField, place, message, hint);
}

/// Reports a value of the wrong type.
pub(crate) fn report_wrong_type(
    at: Spanned<'_>,
    name: &str,
    wanted: &str,
    hint: &str,
    flaws: &mut FlawCollector,
) {
    let message = format!("`{name}` must be {wanted}, not {}", at.value.kind());
    flaws.add(FlawCode::WrongType, at.source_span(), message, hint);
}

/// The string value of a required field.
pub(crate) fn required_string<'t>(
    at: Spanned<'t>,
    owner: &str,
    key: &str,
    hint: &str,
    flaws: &mut FlawCollector,
) -> Option<(&'t Str, Spanned<'t>)> {
    match present(at, key) {
        None => {
            report_missing(at, owner, key, hint, flaws);
            None
        }
        Some(field) => {
            let (text, at) = string_value(field, key, flaws)?;
            if text.trim().is_empty() {
                report_missing(at, owner, key, hint, flaws);
                return None;
            }
            Some((text, at))
        }
    }
}

/// The string value of an optional field.
pub(crate) fn optional_string<'t>(
    at: Spanned<'t>,
    key: &str,
    flaws: &mut FlawCollector,
) -> Option<(&'t Str, Spanned<'t>)> {
    string_value(present(at, key)?, key, flaws)
}

/// The string value; reports any other type.
pub(crate) fn string_value<'t>(
    at: Spanned<'t>,
    name: &str,
    flaws: &mut FlawCollector,
) -> Option<(&'t Str, Spanned<'t>)> {
    if let Value::String(text) = at.value {
        return Some((text, at));
    }
    let hint = match at.value {
        Value::Number(_) | Value::Bool(_) => "quote it",
        Value::Object(_) | Value::Array(_) | Value::Null | Value::String(_) => {
            "write it as a string"
        }
    };
    report_wrong_type(at, name, "a string", hint, flaws);
    None
}

/// A whole number from `least` to `most`.
pub(crate) fn whole_number(
    at: Spanned<'_>,
    name: &str,
    least: u64,
    most: u64,
    flaws: &mut FlawCollector,
) -> Option<u64> {
    let number = at
        .value
        .as_u64()
        .filter(|number| (least..=most).contains(number));
    if number.is_none() {
        let found = match at.value {
            Value::Number(_) => at.value.to_string(),
            other => other.kind().to_owned(),
        };
        flaws.add(
            FlawCode::WrongType,
            at.source_span(),
            format!("`{name}` must be a whole number from {least} to {most}, not {found}"),
            plain_number(at.value).unwrap_or_else(|| "write it as a plain number".to_owned()),
        );
    }
    number
}

/// How to write a number that is text.
pub(crate) fn plain_number(value: &Value) -> Option<String> {
    let number: u64 = value.as_str()?.trim().parse().ok()?;
    Some(format!("write `{number}`"))
}

/// The boolean value of an optional field.
pub(crate) fn boolean(at: Spanned<'_>, key: &str, flaws: &mut FlawCollector) -> Option<bool> {
    let field = present(at, key)?;
    let truth = field.value.as_bool();
    if truth.is_none() {
        let hint = match field.value.as_str().map(str::to_lowercase).as_deref() {
            Some("true" | "yes" | "on") => "write `true`",
            Some("false" | "no" | "off") => "write `false`",
            Some(_) | None => "write true or false, without quotes",
        };
        report_wrong_type(field, key, "true or false", hint, flaws);
    }
    truth
}

/// Reports unknown fields: as warnings, unless the options reject probable typos of known fields.
pub(crate) fn warn_unknown(
    at: Spanned<'_>,
    owner: &str,
    known: &[&str],
    flaws: &mut FlawCollector,
) {
    for (slot, (key, _)) in at.fields().enumerate() {
        if known.contains(&key.as_str()) {
            continue;
        }
        let meant = mistyped(at, key, known);
        let near = meant.or_else(|| nearest(key, known.iter().copied()));
        let hint = without_space(key, known).unwrap_or_else(|| match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("remove it; known fields are {}", quoted_list(known)),
        });
        let code = match meant {
            Some(_) => flaws.mistyped_field_code(),
            None => FlawCode::UnknownField,
        };
        flaws.add(
            code,
            at.key_source_span(slot),
            format!("{owner} has no field `{}`", display_name(key)),
            hint,
        );
    }
}

/// How to write a key that contains its value, because there is no space after the colon.
fn without_space(key: &str, known: &[&str]) -> Option<String> {
    let (name, value) = key.split_once(':')?;
    known
        .contains(&name)
        .then(|| format!("write `{name}: {}`", display_name(value)))
}

/// Names that other formats use for a field, each with the name of the field.
const OTHER_FIELD_NAMES: [(&[&str], &str); 20] = [
    (&["map", "each", "foreach", "for_each", "forEach"], "batch"),
    (&["batch", "each", "foreach", "for_each", "forEach"], "map"),
    (
        &[
            "params",
            "parameters",
            "arguments",
            "input",
            "inputs",
            "with",
        ],
        "args",
    ),
    (
        &["args", "arguments", "parameters", "input", "with"],
        "params",
    ),
    (
        &["params", "parameters", "input", "inputs", "with"],
        "arguments",
    ),
    (
        &["needs", "after", "dependencies", "requires", "deps"],
        "depends_on",
    ),
    (
        &["rules", "cases", "branches", "choices", "when"],
        "conditions",
    ),
    (
        &["conditions", "cases", "branches", "choices", "when"],
        "rules",
    ),
    (&["if", "condition", "when", "logic"], "rule"),
    (&["then", "goto", "to", "target", "next"], "action"),
    (&["then", "goto", "to", "target"], "next"),
    (
        &["expression", "jsonata", "formula", "code", "value"],
        "expr",
    ),
    (&["items", "list", "each", "in", "array"], "over"),
    (&["over", "list", "each", "in", "array"], "items"),
    (
        &["onFailure", "on_failure", "on-failure", "onFail", "catch"],
        "on-error",
    ),
    (&["name", "key", "task_id", "node_id"], "id"),
    (&["source", "src", "start"], "from"),
    (&["target", "dest", "destination", "end"], "to"),
    (
        &[
            "attempts",
            "times",
            "retries",
            "count",
            "max_attempts",
            "maxAttempts",
        ],
        "max",
    ),
    (
        &["parameters", "input", "inputs", "schema", "args"],
        "inputSchema",
    ),
];

/// The known field that an unknown one was probably meant to be: it is spelled almost the same, or it
/// is one of the words of the unknown field (`needs_approval`).
fn mistyped<'k>(at: Spanned<'_>, key: &str, known: &[&'k str]) -> Option<&'k str> {
    /// Bytes of a key compared; the cost is quadratic.
    const KEY_BYTES_MAX: usize = 100;
    /// Shortest name found inside another: shorter ones occur in unrelated words.
    const CONTAINED_BYTES_MIN: usize = 6;
    if key.len() > KEY_BYTES_MAX {
        return None;
    }
    let other = OTHER_FIELD_NAMES
        .iter()
        // Beside the field itself, the other name is something else.
        .find(|(names, ours)| {
            names.contains(&key) && known.contains(ours) && at.get(ours).is_none()
        });
    if let Some((_, ours)) = other {
        return known.iter().copied().find(|name| name == ours);
    }
    let near = nearest(key, known.iter().copied());
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let folded = plain(key);
    let contained = || {
        let names = known.iter().copied();
        names
            .filter(|name| name.len() >= CONTAINED_BYTES_MIN && folded.contains(&plain(name)))
            .max_by_key(|name| name.len())
    };
    near.filter(|near| resembles(key, near)).or_else(contained)
}

/// Names in backticks, separated by commas.
pub(crate) fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
