//! The arguments of a call: which of their parts are expressions and which are meant as written.

use crate::formats::document::At;
use crate::settings;
use crate::workflow::Template;
use tramline_expr::{Str, Value};

/// What begins a text that is an expression from first to last character.
const EXPRESSION_SIGN: char = '$';

/// Reads arguments: a text that starts with `$` and `{expr: …}` are JSONata, `{value: "$…"}` is
/// that text itself, all else is literal. A text that starts with `${settings.KEY}` is literal too:
/// no expression begins so.
pub(super) fn template(value: &Value) -> Template {
    match value {
        Value::String(text) if is_expression(text) => Template::Expr(text.clone()),
        Value::Object(map) => {
            if let Some(source) = only(value, "expr") {
                return Template::Expr(source.clone());
            }
            if let Some(text) = only(value, "value")
                && text.starts_with(EXPRESSION_SIGN)
            {
                return Template::Literal(text.clone().into());
            }
            let fields: Vec<_> = map
                .iter()
                .map(|(key, value)| (key.clone(), template(value)))
                .collect();
            if fields.iter().all(|(_, field)| is_same(field)) {
                return Template::Literal(value.clone());
            }
            Template::Object(fields)
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(template).collect();
            if items.iter().all(is_same) {
                return Template::Literal(value.clone());
            }
            Template::Array(items)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Template::Literal(value.clone())
        }
    }
}

fn is_expression(text: &str) -> bool {
    text.starts_with(EXPRESSION_SIGN) && !settings::begins(text)
}

/// Whether a template is just what was written: then what holds only such is literal as a whole.
fn is_same(template: &Template) -> bool {
    match template {
        // Only the escape makes a literal that starts so, and it is not what was written.
        Template::Literal(Value::String(text)) => !is_expression(text),
        Template::Literal(Value::Array(_) | Value::Object(_)) => true,
        Template::Literal(Value::Null | Value::Bool(_) | Value::Number(_)) => true,
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => false,
    }
}

/// The text under `key`, where that is the only key.
fn only<'v>(value: &'v Value, key: &str) -> Option<&'v Str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    match map.get(key)? {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// Where the source of the expression at a place in the arguments stands.
pub(super) fn source(at: At<'_>) -> At<'_> {
    match only(at.value, "expr") {
        Some(_) => at.get("expr").unwrap_or(at),
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_found_at_every_depth_and_literals_stay_shared() {
        let value = Value::from_json(
            r#"{"a":"$.x","b":{"expr":"y"},"c":[1,{"expr":"z"}],"d":{"value":"$5"},
                "e":{"value":"5"},"f":{"expr":"y","more":1},"g":{"expr":7},"h":"cost: $5"}"#,
        )
        .unwrap();
        let Template::Object(fields) = template(&value) else {
            panic!("an object with expressions in it");
        };
        let literal = |json: &str| Template::Literal(Value::from_json(json).unwrap());
        let expected = [
            ("a", Template::Expr("$.x".into())),
            ("b", Template::Expr("y".into())),
            (
                "c",
                Template::Array(vec![literal("1"), Template::Expr("z".into())]),
            ),
            ("d", literal("\"$5\"")),
            ("e", literal(r#"{"value":"5"}"#)),
            ("f", literal(r#"{"expr":"y","more":1}"#)),
            ("g", literal(r#"{"expr":7}"#)),
            ("h", literal("\"cost: $5\"")),
        ];
        for ((key, field), (name, wanted)) in fields.iter().zip(expected) {
            assert_eq!(key, name);
            assert_eq!(*field, wanted, "{name}");
        }
        let plain = Value::from_json(r#"{"a":[1,2],"b":{}}"#).unwrap();
        assert_eq!(template(&plain), Template::Literal(plain));
    }

    #[test]
    fn settings_are_literals() {
        let value = Value::from_json(r#"{"a":"${settings.K}/x","b":{"c":"${settings.K}"}}"#);
        let value = value.unwrap();
        assert_eq!(template(&value), Template::Literal(value));
        let other = template(&"${settings: 1}".into());
        assert_eq!(other, Template::Expr("${settings: 1}".into()));
    }

    #[test]
    fn an_escape_inside_an_otherwise_literal_list_is_undone() {
        let value = Value::from_json(r#"[{"value":"$a"}]"#).unwrap();
        let wanted = Template::Array(vec![Template::Literal("$a".into())]);
        assert_eq!(template(&value), wanted);
    }
}
