//! The arguments of a call: which parts are expressions and which are literals.

use tramline_expr::{Str, Value};
use tramline_syntax::document::Spanned;
use tramline_workflow::setting_references;
use tramline_workflow::workflow::Template;

/// The first character of a string that is an expression.
const EXPRESSION_SIGN: char = '$';

/// Reads arguments: a string that starts with `$` and `{expr: …}` are JSONata, `{value: "$…"}` is that
/// string itself, everything else is literal. A string that starts with `${settings.KEY}` is literal
/// too, because no expression starts like that.
pub(super) fn template(value: &Value) -> Template {
    match value {
        Value::String(text) if is_expression(text) => Template::Expr(text.clone()),
        Value::Object(map) => {
            if let Some(source) = single_field(value, "expr") {
                return Template::Expr(source.clone());
            }
            if let Some(text) = single_field(value, "value")
                && text.starts_with(EXPRESSION_SIGN)
            {
                return Template::Literal(text.clone().into());
            }
            let fields: Vec<_> = map
                .iter()
                .map(|(key, value)| (key.clone(), template(value)))
                .collect();
            if fields.iter().all(|(_, field)| is_verbatim(field)) {
                return Template::Literal(value.clone());
            }
            Template::Object(fields)
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(template).collect();
            if items.iter().all(is_verbatim) {
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
    text.starts_with(EXPRESSION_SIGN) && !setting_references::starts_with_reference(text)
}

/// Whether a template equals the written value; a container of only such templates is a literal.
fn is_verbatim(template: &Template) -> bool {
    match template {
        // Only the escape produces such a literal, and the escape differs from the written value.
        Template::Literal(Value::String(text)) => !is_expression(text),
        Template::Literal(Value::Array(_) | Value::Object(_)) => true,
        Template::Literal(Value::Null | Value::Bool(_) | Value::Number(_)) => true,
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => false,
    }
}

/// The string under `key`, if that is the only key.
fn single_field<'v>(value: &'v Value, key: &str) -> Option<&'v Str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    match map.get(key)? {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// The location of an expression's source within arguments.
pub(super) fn expression_source(at: Spanned<'_>) -> Spanned<'_> {
    match single_field(at.value, "expr") {
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
            panic!("expected an object with expressions");
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
