//! `${settings.KEY}` references in documents, and how the arguments of a call get their values.
//!
//! A reference only counts where the document itself contains it: in a literal value or in the
//! source of an expression. Data never contains references, or else the output of a tool could
//! request secrets. Journals keep the reference; only the call gets the value.

use crate::failure::{Failure, FailureKind};
use crate::workflow::{Action, Template, Workflow};
use std::collections::BTreeMap;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// The start of a reference; its key and `}` follow.
pub const REFERENCE_PREFIX: &str = "${settings.";

/// Bytes of a key; keys are part of messages and file names.
pub const KEY_BYTES_MAX: usize = 128;

/// Returns the value of a setting, or why there is none.
pub type SettingLookup<'l> = &'l dyn Fn(&str) -> Result<Str, Failure>;

/// Whether a text is a valid key: a letter or `_`, then letters, digits, `_`, `.`, `-`.
pub fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    begins && text.len() <= KEY_BYTES_MAX && bytes.all(goes_on)
}

/// The references in a text: their ranges and keys.
pub fn references(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        loop {
            let begin = done + text[done..].find(REFERENCE_PREFIX)?;
            let inside = begin + REFERENCE_PREFIX.len();
            done = inside;
            let Some(length) = text[inside..].find('}') else {
                continue;
            };
            let key = &text[inside..inside + length];
            if is_key(key) {
                done = inside + length + 1;
                return Some((begin..done, key));
            }
        }
    })
}

/// Whether a text starts with a reference.
pub fn starts_with_reference(text: &str) -> bool {
    text.starts_with(REFERENCE_PREFIX)
        && references(text).next().is_some_and(|(at, _)| at.start == 0)
}

/// The keys that a workflow's calls use, each with the nodes that use it.
pub fn keys_by_node(workflow: &Workflow) -> BTreeMap<Str, Vec<Str>> {
    let mut found: BTreeMap<Str, Vec<Str>> = BTreeMap::new();
    for node in &workflow.nodes {
        let Action::Call { arguments, .. } = &node.action else {
            continue;
        };
        for (key, _) in count_keys(arguments) {
            found.entry(key).or_default().push(node.id.clone());
        }
    }
    found
}

/// Whether a call's arguments use any settings.
pub fn uses_settings(template: &Template) -> bool {
    !count_keys(template).is_empty()
}

/// The keys that a template uses and a value still refers to.
pub fn open_keys(template: &Template, value: &Value) -> Vec<Str> {
    let mut there = BTreeMap::new();
    count_value(value, &mut there);
    let named = count_keys(template);
    there.retain(|key, _| named.contains_key(key));
    there.into_keys().collect()
}

/// The keys that a template uses.
pub fn keys_in(template: &Template) -> Vec<Str> {
    count_keys(template).into_keys().collect()
}

/// How often the document uses each key in a template.
fn count_keys(template: &Template) -> BTreeMap<Str, usize> {
    let mut counts = BTreeMap::new();
    count_template(template, &mut counts);
    counts
}

fn count_template(template: &Template, counts: &mut BTreeMap<Str, usize>) {
    match template {
        Template::Literal(value) => count_value(value, counts),
        Template::Expr(source) => count_text(source, counts),
        Template::Object(fields) => {
            for (_, field) in fields {
                count_template(field, counts);
            }
        }
        Template::Array(items) => {
            for item in items {
                count_template(item, counts);
            }
        }
    }
}

fn count_value(value: &Value, counts: &mut BTreeMap<Str, usize>) {
    match value {
        Value::String(text) => count_text(text, counts),
        Value::Array(items) => {
            for item in items.iter() {
                count_value(item, counts);
            }
        }
        Value::Object(map) => {
            for item in map.values() {
                count_value(item, counts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn count_text(text: &str, counts: &mut BTreeMap<Str, usize>) {
    for (_, key) in references(text) {
        *counts.entry(key.into()).or_default() += 1;
    }
}

/// Fills the values of the settings that a call's template uses into its arguments.
pub fn fill_in(
    template: &Template,
    arguments: &Value,
    lookup: SettingLookup<'_>,
) -> Result<Value, Failure> {
    match (template, arguments) {
        (Template::Object(fields), Value::Object(map)) => {
            let mut filled = tramline_expr::Map::with_capacity(map.len());
            for (key, value) in map.iter() {
                let field = fields.iter().find(|(name, _)| name == key);
                let value = match field {
                    Some((_, field)) => fill_in(field, value, lookup)?,
                    None => value.clone(),
                };
                filled.insert(key.clone(), value);
            }
            Ok(filled.into())
        }
        (Template::Array(items), Value::Array(values)) if items.len() == values.len() => {
            let filled = items.iter().zip(values.iter());
            let filled = filled.map(|(item, value)| fill_in(item, value, lookup));
            Ok(filled.collect::<Result<Vec<_>, _>>()?.into())
        }
        // Items without a value are dropped, so the positions of the others have changed: as in an
        // expression, all of them together may use what the template names and no more.
        (
            Template::Literal(_) | Template::Expr(_) | Template::Object(_) | Template::Array(_),
            _,
        ) => {
            let allowed = count_keys(template);
            if allowed.is_empty() {
                return Ok(arguments.clone());
            }
            let mut there = BTreeMap::new();
            count_value(arguments, &mut there);
            for (key, most) in &allowed {
                if there.get(key).is_some_and(|count| count > most) {
                    return Err(injected_reference(key));
                }
            }
            replace(arguments, &|key| {
                allowed.contains_key(key).then(|| lookup(key)).transpose()
            })
        }
    }
}

/// The failure for data that tries to request a secret.
fn injected_reference(key: &str) -> Failure {
    let message = format!(
        "the result of an expression contains `{REFERENCE_PREFIX}{key}}}` more often than the document: data must \
         not request settings; put the setting in a separate field"
    );
    Failure::new(FailureKind::Forbidden, message)
}

type KeyResolver<'f> = &'f dyn Fn(&str) -> Result<Option<Str>, Failure>;

fn replace(value: &Value, found: KeyResolver<'_>) -> Result<Value, Failure> {
    Ok(match value {
        Value::String(text) => replace_text(text, found)?.map_or_else(|| value.clone(), Into::into),
        Value::Array(items) => {
            let items = items.iter().map(|item| replace(item, found));
            items.collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Object(map) => {
            let mut filled = tramline_expr::Map::with_capacity(map.len());
            for (key, value) in map.iter() {
                filled.insert(key.clone(), replace(value, found)?);
            }
            filled.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

fn replace_text(text: &str, found: KeyResolver<'_>) -> Result<Option<String>, Failure> {
    let mut filled: Option<String> = None;
    let mut done = 0;
    for (at, key) in references(text) {
        let Some(value) = found(key)? else { continue };
        let out = filled.get_or_insert_default();
        out.push_str(&text[done..at.start]);
        out.push_str(&value);
        done = at.end;
    }
    if let Some(out) = &mut filled {
        out.push_str(&text[done..]);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn lookup(key: &str) -> Result<Str, Failure> {
        match key {
            "K" => Ok("value".into()),
            _ => Err(Failure::new(FailureKind::BadArguments, key)),
        }
    }

    fn filled(template: &Template, arguments: &str) -> Result<String, Failure> {
        fill_in(template, &json(arguments), &lookup).map(|value| value.to_json())
    }

    #[test]
    fn keys_and_references_are_told_from_text() {
        for key in ["K", "_a", "github.token", "a-b.c_1"] {
            assert!(is_key(key), "{key}");
        }
        for text in ["", "1a", "a b", "é", ".a", &"k".repeat(129)] {
            assert!(!is_key(text), "{text}");
        }
        let text = "a ${settings.K} ${settings.} ${settings.a b} ${settings.x.y}${settings.";
        let found: Vec<_> = references(text).map(|(_, key)| key).collect();
        assert_eq!(found, ["K", "x.y"]);
        assert!(
            starts_with_reference("${settings.K}/x") && !starts_with_reference("x${settings.K}")
        );
        assert!(!starts_with_reference("${settings.} ${settings.K}"));
    }

    #[test]
    fn what_a_document_writes_is_filled_in() {
        let literal = Template::Literal(json(r#"{"a":["Bearer ${settings.K}"],"b":1}"#));
        let is = filled(&literal, r#"{"a":["Bearer ${settings.K}"],"b":1}"#).unwrap();
        assert_eq!(is, r#"{"a":["Bearer value"],"b":1}"#);
        let expression = Template::Expr(r#""${settings.K}-" & x"#.into());
        assert_eq!(
            filled(&expression, r#""${settings.K}-1""#).unwrap(),
            r#""value-1""#
        );
        let missing = Template::Literal("${settings.NO}".into());
        assert_eq!(
            filled(&missing, r#""${settings.NO}""#).unwrap_err().message,
            "NO"
        );
    }

    #[test]
    fn what_data_brings_stays_text() {
        let template = Template::Object(vec![
            ("auth".into(), Template::Literal("${settings.K}".into())),
            ("body".into(), Template::Expr("x.body".into())),
        ]);
        let given = r#"{"auth":"${settings.K}","body":"${settings.K}"}"#;
        let wanted = r#"{"auth":"value","body":"${settings.K}"}"#;
        assert_eq!(filled(&template, given).unwrap(), wanted);
        // One expression for both: references beyond those in the source came from data.
        let both = Template::Expr(r#"{"auth": "${settings.K}", "body": x.body}"#.into());
        let failure = filled(&both, given).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Forbidden);
        let harmless = r#"{"auth":"${settings.K}","body":"${settings.OTHER}"}"#;
        let wanted = r#"{"auth":"value","body":"${settings.OTHER}"}"#;
        assert_eq!(filled(&both, harmless).unwrap(), wanted);
    }

    #[test]
    fn lists_that_have_shrunk_are_held_to_what_they_name() {
        let template = Template::Array(vec![
            Template::Expr("nothing".into()),
            Template::Literal("${settings.K}".into()),
        ]);
        assert_eq!(
            filled(&template, r#"["${settings.K}"]"#).unwrap(),
            r#"["value"]"#
        );
        let twice = filled(&template, r#"["${settings.K}","${settings.K}"]"#).unwrap();
        assert_eq!(twice, r#"["${settings.K}","value"]"#);
        let three = Template::Array(vec![
            Template::Expr("a".into()),
            Template::Expr("b".into()),
            Template::Literal("${settings.K}".into()),
        ]);
        assert!(filled(&three, r#"["${settings.K}","${settings.K}"]"#).is_err());
    }
}
