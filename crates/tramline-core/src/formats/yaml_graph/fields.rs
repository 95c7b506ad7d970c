//! Fields of an object in a document: there or missing, of the right type or not, known or not.

use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::text::{nearest, shown};
use tramline_expr::{Str, Value};

/// What stands under a key, if anything but nothing does.
pub(in crate::formats) fn given<'t>(at: At<'t>, key: &str) -> Option<At<'t>> {
    at.get(key).filter(|field| !field.value.is_null())
}

/// The first of several names of one field that is given.
pub(in crate::formats) fn given_as<'t>(
    at: At<'t>,
    keys: &[&'static str],
) -> Option<(&'static str, At<'t>)> {
    keys.iter()
        .find_map(|key| given(at, key).map(|field| (*key, field)))
}

/// Notes that a field is not there.
pub(in crate::formats) fn missing(
    at: At<'_>,
    owner: &str,
    key: &str,
    hint: &str,
    flaws: &mut Flaws,
) {
    let empty = at.get(key);
    let (place, how) = match empty {
        Some(field) => (field.place(), "is empty"),
        None => (at.place(), "is missing"),
    };
    let message = format!("the `{key}` of {owner} {how}");
    flaws.add(Code::Missing, place, message, hint);
}

/// Notes that a value is not of the type it must have.
pub(in crate::formats) fn wrong(
    at: At<'_>,
    name: &str,
    wanted: &str,
    hint: &str,
    flaws: &mut Flaws,
) {
    let message = format!("`{name}` must be {wanted}, not {}", at.value.kind());
    flaws.add(Code::WrongType, at.place(), message, hint);
}

/// The text of a field that must be there.
pub(in crate::formats) fn required<'t>(
    at: At<'t>,
    owner: &str,
    key: &str,
    hint: &str,
    flaws: &mut Flaws,
) -> Option<(&'t Str, At<'t>)> {
    match given(at, key) {
        None => {
            missing(at, owner, key, hint, flaws);
            None
        }
        Some(field) => {
            let (text, at) = as_text(field, key, flaws)?;
            if text.trim().is_empty() {
                missing(at, owner, key, hint, flaws);
                return None;
            }
            Some((text, at))
        }
    }
}

/// The text of a field that may be there.
pub(in crate::formats) fn text<'t>(
    at: At<'t>,
    key: &str,
    flaws: &mut Flaws,
) -> Option<(&'t Str, At<'t>)> {
    as_text(given(at, key)?, key, flaws)
}

/// The text of a value that stands under a name.
pub(in crate::formats) fn as_text<'t>(
    at: At<'t>,
    name: &str,
    flaws: &mut Flaws,
) -> Option<(&'t Str, At<'t>)> {
    if let Value::String(text) = at.value {
        return Some((text, at));
    }
    let hint = match at.value {
        Value::Number(_) | Value::Bool(_) => "put it into quotes",
        Value::Object(_) | Value::Array(_) | Value::Null | Value::String(_) => "write it as text",
    };
    wrong(at, name, "a string", hint, flaws);
    None
}

/// A whole number of a field, not under `least`.
pub(in crate::formats) fn whole(
    at: At<'_>,
    name: &str,
    least: u64,
    most: u64,
    flaws: &mut Flaws,
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
            Code::WrongType,
            at.place(),
            format!("`{name}` must be a whole number from {least} to {most}, not {found}"),
            "write it as a plain number",
        );
    }
    number
}

/// The truth value of a field that may be there.
pub(in crate::formats) fn truth(at: At<'_>, key: &str, flaws: &mut Flaws) -> Option<bool> {
    let field = given(at, key)?;
    let truth = field.value.as_bool();
    if truth.is_none() {
        wrong(
            field,
            key,
            "true or false",
            "write true or false, without quotes",
            flaws,
        );
    }
    truth
}

/// Warns of every field nobody knows.
pub(in crate::formats) fn unknown(at: At<'_>, owner: &str, known: &[&str], flaws: &mut Flaws) {
    for (slot, (key, _)) in at.fields().enumerate() {
        if known.contains(&key.as_str()) {
            continue;
        }
        let hint = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("remove it; known are {}", list(known)),
        };
        flaws.add(
            Code::UnknownField,
            at.key_place(slot),
            format!("{owner} has no field `{}`", shown(key)),
            hint,
        );
    }
}

/// Names as a sentence lists them.
pub(in crate::formats) fn list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
