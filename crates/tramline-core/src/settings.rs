//! `${settings.KEY}`: where a document names a setting, and how a call's arguments get its value.
//!
//! A reference counts only where the document itself has it: in a value as written, or in the text
//! of an expression. What data brings is never a reference, or a tool's answer could ask for
//! secrets. Journals keep the reference; only the call gets the value.

use crate::failure::{Failure, FailureKind};
use crate::workflow::{Action, Template, Workflow};
use std::collections::BTreeMap;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// What begins a reference; its key and `}` follow.
pub const SIGN: &str = "${settings.";

/// Longer keys are refused, in bytes: they stand in messages and file names.
pub const KEY_BYTES_MAX: usize = 128;

/// Gives the value of a setting, or why there is none.
pub type Lookup<'l> = &'l dyn Fn(&str) -> Result<Str, Failure>;

/// Whether a text can be a setting's key: a letter or `_`, then letters, digits, `_`, `.`, `-`.
pub fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    begins && text.len() <= KEY_BYTES_MAX && bytes.all(goes_on)
}

/// The references in a text: where they stand and which key they name.
pub fn references(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        loop {
            let begin = done + text[done..].find(SIGN)?;
            let inside = begin + SIGN.len();
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

/// Whether a text begins with a reference.
pub fn begins(text: &str) -> bool {
    text.starts_with(SIGN) && references(text).next().is_some_and(|(at, _)| at.start == 0)
}

/// The keys that a workflow's calls name, each with the nodes that do.
pub fn uses(workflow: &Workflow) -> BTreeMap<Str, Vec<Str>> {
    let mut found: BTreeMap<Str, Vec<Str>> = BTreeMap::new();
    for node in &workflow.nodes {
        let Action::Call { arguments, .. } = &node.action else {
            continue;
        };
        for (key, _) in written(arguments) {
            found.entry(key).or_default().push(node.id.clone());
        }
    }
    found
}

/// Whether a call's arguments name settings at all.
pub fn is_used(template: &Template) -> bool {
    !written(template).is_empty()
}

/// How often the document names each key in a template.
fn written(template: &Template) -> BTreeMap<Str, usize> {
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

/// The arguments of a call with the values of the settings that its template names.
pub fn fill_in(
    template: &Template,
    arguments: &Value,
    lookup: Lookup<'_>,
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
        // Items that gave nothing are left out, so the others have moved: like an expression, all
        // of them together may hold what they name and no more.
        (
            Template::Literal(_) | Template::Expr(_) | Template::Object(_) | Template::Array(_),
            _,
        ) => {
            let allowed = written(template);
            if allowed.is_empty() {
                return Ok(arguments.clone());
            }
            let mut there = BTreeMap::new();
            count_value(arguments, &mut there);
            for (key, most) in &allowed {
                if there.get(key).is_some_and(|count| count > most) {
                    return Err(brought(key));
                }
            }
            replace(arguments, &|key| {
                allowed.contains_key(key).then(|| lookup(key)).transpose()
            })
        }
    }
}

/// A failure that keeps data from asking for a secret.
fn brought(key: &str) -> Failure {
    let message = format!(
        "what an expression gave names `{SIGN}{key}}}` more often than the document does: data may \
         not ask for settings; give the setting a field of its own"
    );
    Failure::new(FailureKind::Forbidden, message)
}

type Found<'f> = &'f dyn Fn(&str) -> Result<Option<Str>, Failure>;

fn replace(value: &Value, found: Found<'_>) -> Result<Value, Failure> {
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

fn replace_text(text: &str, found: Found<'_>) -> Result<Option<String>, Failure> {
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
        assert!(begins("${settings.K}/x") && !begins("x${settings.K}"));
        assert!(!begins("${settings.} ${settings.K}"));
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
        // One expression for both: what comes out more often than it was written came from data.
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
