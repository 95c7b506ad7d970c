//! Arbitrary text as an expression: the first byte selects JSONata or a JSON Logic rule. Compiling
//! and evaluating return a result or an error, within the limits.

use std::sync::LazyLock;
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Rule, Value};

/// The scope of a graph's expressions: outputs by node, with every kind of value.
static SCOPE: LazyLock<Value> = LazyLock::new(|| {
    let text = r#"{
        "entry": {"path": "a/b", "n": 3, "list": [1, 2.5, -3, "x", null, true, {"k": "v"}]},
        "orders": [{"id": 1, "lines": [{"sku": "a", "price": 10, "count": 2}]},
                   {"id": 2, "lines": [{"sku": "b", "price": 0.5, "count": 7}, {"sku": "é"}]}],
        "text": "Ünïcode 日本 😀\nsecond line", "none": null, "empty": [], "deep": {"a": {"b": {"c": [[[]]]}}}
    }"#;
    Value::from_json(text).unwrap_or_default()
});

const FUNCTIONS: HostFunctions = HostFunctions::from_static(&["previousNode", "executionCount"]);

/// Small, so that the fuzzer tries many inputs rather than one long evaluation.
const LIMITS: Limits = Limits {
    fuel: 50_000,
    depth: 200,
    bytes: 1 << 20,
    items: 20_000,
    deadline: None,
    offload: None,
};

pub(crate) fn check(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    if *kind == b'{' || *kind == b'[' {
        rule(&format!("{}{text}", char::from(*kind)));
    } else {
        jsonata(text);
    }
}

fn jsonata(source: &str) {
    match Expression::compile(source, &FUNCTIONS) {
        Ok(expression) => {
            let _ = expression.host_calls();
            if let Ok(Some(value)) = expression.evaluate(&SCOPE, &NoHost, &LIMITS) {
                let _ = value.to_json();
            }
        }
        Err(error) => {
            if let Some(span) = error.span {
                assert!(
                    source.get(span).is_some(),
                    "the span is not on character boundaries"
                );
            }
        }
    }
}

fn rule(json: &str) {
    let Ok(value) = Value::from_json(json) else {
        return;
    };
    if let Ok(rule) = Rule::compile(&value, &FUNCTIONS) {
        let _ = rule.host_calls();
        if let Ok(value) = rule.evaluate(&SCOPE, &NoHost, &LIMITS) {
            let _ = value.to_json();
        }
        let _ = rule.holds(&SCOPE, &NoHost, &LIMITS);
    }
}
