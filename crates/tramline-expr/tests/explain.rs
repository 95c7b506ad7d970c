//! Explanations: the value of every operand, also of a failed evaluation.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking

use tramline_expr::{Explanation, Expression, HostFunctions, Limits, NoHost, Value, explain};

fn flat(explanation: &Explanation, source: &str, out: &mut Vec<(String, Option<Value>)>) {
    out.push((
        source[explanation.span.clone()].to_owned(),
        explanation.value.clone(),
    ));
    for child in &explanation.children {
        flat(child, source, out);
    }
}

fn explained(source: &str, input: &str) -> Vec<(String, Option<Value>)> {
    let expression = Expression::compile(source, &HostFunctions::none()).unwrap();
    let input = Value::from_json(input).unwrap();
    let explanation = explain(&expression, &input, &NoHost, &Limits::default()).unwrap();
    let mut out = Vec::new();
    flat(&explanation, source, &mut out);
    out
}

#[test]
fn every_operand_has_its_value() {
    let found = explained(
        "order.total > 100 and tier = 'gold'",
        r#"{"order": {"total": 120}, "tier": "tin"}"#,
    );
    let value = |text: &str| {
        let entry = found.iter().find(|(span, _)| span == text);
        entry
            .unwrap_or_else(|| panic!("{text} is not in {found:?}"))
            .1
            .clone()
    };
    assert_eq!(
        value("order.total > 100 and tier = 'gold'"),
        Some(Value::from(false))
    );
    assert_eq!(value("order.total > 100"), Some(Value::from(true)));
    assert_eq!(value("order.total"), Some(Value::from(120)));
    assert_eq!(value("tier = 'gold'"), Some(Value::from(false)));
    assert_eq!(value("tier"), Some(Value::from("tin")));
}

#[test]
fn an_error_is_explained_too() {
    let found = explained("a + b", r#"{"a": 1, "b": "x"}"#);
    assert_eq!(found[0], ("a + b".to_owned(), None));
    assert!(found.contains(&("b".to_owned(), Some(Value::from("x")))));
}

#[test]
fn a_large_evaluation_is_explained_in_part() {
    let expression =
        Expression::compile("$sum([1..50000].($ * 2))", &HostFunctions::none()).unwrap();
    let (result, explanation) = expression.explain(&Value::Null, &NoHost, &Limits::default());
    assert_eq!(result.unwrap(), Some(Value::from(2_500_050_000i64)));
    assert!(explanation.is_some());
}
