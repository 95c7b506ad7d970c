//! The arguments of a call: which parts are expressions and which are literals.

use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::setting_references;
use tramline_workflow::text::display_name;
use tramline_workflow::workflow::Template;

/// The first character of a string that is an expression.
const EXPRESSION_SIGN: char = '$';

/// Reads arguments: a string that starts with `$` and `{expr: …}` are JSONata, `{value: …}` around either
/// is the string or the object itself, everything else is literal. A string that starts with `${settings.KEY}` is literal
/// too, because no expression starts like that.
pub(crate) fn template(value: &Value) -> Template {
    match value {
        Value::String(text) if is_expression(text) => Template::Expr(text.clone()),
        Value::Object(map) => {
            if let Some(source) = single_field(value, "expr") {
                return Template::Expr(source.clone());
            }
            if let Some(inner) = escaped(value) {
                return Template::Literal(inner.clone());
            }
            let named = field_called_expr(value);
            let fields: Vec<_> = map
                .iter()
                .map(|(key, value)| match &named {
                    Some(inner) if key == "expr" => (key.clone(), inner.clone()),
                    Some(_) | None => (key.clone(), template(value)),
                })
                .collect();
            if named.is_none() && fields.iter().all(|(_, field)| is_verbatim(field)) {
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

/// The literal inside `{value: …}`: text that starts with `$`, or an object with a field `expr`.
pub(crate) fn escaped(value: &Value) -> Option<&Value> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    let inner = map.get("value")?;
    let is_special = match inner {
        Value::String(text) => text.starts_with(EXPRESSION_SIGN),
        Value::Object(inner) => inner.contains_key("expr"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    };
    is_special.then_some(inner)
}

/// The value of a field that is really called `expr`: `{expr: {value: …}}`, or `{expr: {expr: …}}` if it
/// is computed.
pub(crate) fn field_called_expr(value: &Value) -> Option<Template> {
    let inner = value.get("expr")?;
    if let Some(source) = single_field(inner, "expr") {
        return Some(Template::Expr(source.clone()));
    }
    let map = inner.as_object().filter(|map| map.len() == 1)?;
    map.get("value").cloned().map(Template::Literal)
}

/// Reports objects that look like an expression but are none: `expr` beside other fields, or `expr`
/// that is not text.
pub(crate) fn check_expression_objects(at: Spanned<'_>, flaws: &mut FlawCollector) {
    if escaped(at.value).is_some() {
        return;
    }
    match at.value {
        Value::Object(map) => {
            if let Some(expr) = at.get("expr")
                && field_called_expr(at.value).is_none()
            {
                report_expression_object(at, expr, map.len(), flaws);
                return;
            }
            let others = at.fields().filter(|(key, _)| *key != "expr");
            others.for_each(|(_, field)| check_expression_objects(field, flaws));
        }
        Value::Array(_) => at
            .items()
            .for_each(|item| check_expression_objects(item, flaws)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reports one such object.
pub(crate) fn report_expression_object(
    at: Spanned<'_>,
    expr: Spanned<'_>,
    fields: usize,
    flaws: &mut FlawCollector,
) {
    let place = expr.own_key_span().unwrap_or_else(|| at.source_span());
    if fields > 1 {
        flaws.add(
            FlawCode::WrongType,
            place,
            "`expr` makes the whole object an expression and must be its only field",
            match at.fields().map(|(key, _)| key).find(|key| *key != "expr") {
                Some(other) if fields == 2 => format!(
                    "remove `{}`; if `expr` is just a field, write `expr: {{value: …}}`",
                    display_name(other)
                ),
                Some(_) | None => "move the other fields out; if `expr` is just a field, write \
                                   `expr: {value: …}`"
                    .to_owned(),
            },
        );
    } else if expr.value.as_str().is_none() {
        let found = expr.value.kind();
        flaws.add(
            FlawCode::WrongType,
            expr.source_span(),
            format!("`expr` must be a JSONata expression in quotes, not {found}"),
            format!("write `{}`", Value::from(expr.value.to_json()).to_json()),
        );
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
        Template::Literal(Value::Object(map)) => !map.contains_key("expr"),
        Template::Literal(Value::Array(_)) => true,
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
                "e":{"value":"5"},"f":{"value":{"expr":"y","more":1}},"h":"cost: $5"}"#,
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
