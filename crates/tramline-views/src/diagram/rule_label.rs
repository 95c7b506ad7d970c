//! Renders a JSON Logic rule as a short edge label with the usual comparison operators.

use tramline_expr::Value;

/// Nesting depth of a rule rendered as text; deeper rules are shown as JSON and truncated.
const DEPTH_MAX: usize = 4;

/// The rule as an edge label.
pub(super) fn label_text(rule: &Value) -> String {
    render_rule(rule, 0).unwrap_or_else(|| rule.to_json())
}

fn render_rule(rule: &Value, depth: usize) -> Option<String> {
    if depth > DEPTH_MAX {
        return None;
    }
    let Value::Object(map) = rule else {
        return Some(match rule {
            Value::String(text) => format!("\"{text}\""),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => rule.to_json(),
        });
    };
    let (operator, given) = map.get_index(0).filter(|_| map.len() == 1)?;
    let whole = std::slice::from_ref(given);
    let arguments = given.as_array().unwrap_or(whole);
    match (operator.as_str(), arguments) {
        ("var", [Value::String(path), ..]) => Some(path.to_string()),
        ("!", [one]) => Some(format!("not {}", render_rule(one, depth + 1)?)),
        ("!!", [one]) => render_rule(one, depth + 1),
        ("and" | "or", many) => {
            let parts: Option<Vec<_>> = many
                .iter()
                .map(|part| render_rule(part, depth + 1))
                .collect();
            Some(parts?.join(&format!(" {operator} ")))
        }
        (
            "==" | "===" | "!=" | "!==" | "<" | "<=" | ">" | ">=" | "in" | "+" | "-" | "*" | "/"
            | "%",
            [left, right],
        ) => {
            let sign = match operator.as_str() {
                "==" | "===" => "=",
                "!=" | "!==" => "≠",
                "<=" => "≤",
                ">=" => "≥",
                other => other,
            };
            let (left, right) = (
                render_rule(left, depth + 1)?,
                render_rule(right, depth + 1)?,
            );
            Some(format!("{left} {sign} {right}"))
        }
        ("<" | "<=", [low, middle, high]) => {
            let sign = if operator == "<" { "<" } else { "≤" };
            let [low, middle, high] = [low, middle, high].map(|part| render_rule(part, depth + 1));
            Some(format!("{} {sign} {} {sign} {}", low?, middle?, high?))
        }
        _ => None,
    }
}
