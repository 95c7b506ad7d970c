//! Behaviour of the reference that its suite does not cover, found by running both side by side.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// Expression, input, and what the reference gives for them.
const SAME: &[(&str, &str, &str)] = &[
    // A function that ends in calling a built-in hands on a sequence of one as it is.
    (
        "$map([1,2], function($x){ $filter([1,2,3], function($y){ $y = $x }) })",
        "null",
        "[[1],[2]]",
    ),
    (
        "($f := function($x){ $filter([1,2,3], function($y){ $y = $x }) }; $f(1))",
        "null",
        "1",
    ),
    (
        "$map([1,2], function($x){ $keys({'a': 1}) })",
        "null",
        r#"[["a"],["a"]]"#,
    ),
    // What follows ?? and ?: reaches to the end.
    ("missing ?? a ? 1 : 2", r#"{"a": true}"#, "1"),
    ("a ?: 0 ? 1 : 2", r#"{"a": 5}"#, "5"),
    // Nested arrays are flattened step by step, single results once more.
    ("a.b", r#"{"a": [[{"b": [[1, 2]]}]]}"#, "[1,2]"),
    (
        "a.b",
        r#"{"a": [[{"b": [[1, 2]]}, {"b": 3}]]}"#,
        "[[1,2],3]",
    ),
    ("a.b", r#"{"a": [{"b": [1]}]}"#, "[1]"),
    ("a.[1]", r#"{"a": [1, 2]}"#, "[[1],[1]]"),
    ("$spread([{'a': 1}])", "null", r#"[{"a":1}]"#),
    ("$string(5890840712243076)", "null", r#""5890840712243076""#),
];

/// Expression, code, and position.
const FAILING: &[(&str, &str, Option<usize>)] = &[
    ("1 + 'a'", "T2002", Some(3)),
    ("$sum('a')", "T0412", Some(5)),
    ("true or $error('x') and 1 < $number('x')", "value", None),
    ("false or $number('x')", "D3030", Some(8)),
    ("($f := function(){ 1 + '' }; $f())", "T2002", Some(32)),
    ("($f := function(){ $min(2, 3) }; $f())", "T0410", Some(23)),
    ("'é' & (1 + 'a')", "T2002", Some(10)),
    ("$f(", "S0203", Some(3)),
    ("1 +", "S0207", Some(3)),
    ("missing[$number('x')]", "D3030", Some(16)),
];

#[test]
fn values() {
    for (source, input, expected) in SAME {
        let expression = Expression::compile(source, &HostFunctions::none()).unwrap();
        let input = Value::from_json(input).unwrap();
        let value = expression.evaluate(&input, &NoHost, &Limits::default());
        assert_eq!(
            value,
            Ok(Some(Value::from_json(expected).unwrap())),
            "{source}"
        );
    }
}

#[test]
fn errors() {
    for (source, code, position) in FAILING {
        let outcome = Expression::compile(source, &HostFunctions::none())
            .and_then(|expression| expression.evaluate(&Value::Null, &NoHost, &Limits::default()));
        match outcome {
            Ok(_) => assert_eq!(*code, "value", "{source}"),
            Err(error) => {
                assert_eq!(
                    (error.code.as_str(), error.position),
                    (*code, *position),
                    "{source}"
                );
            }
        }
    }
}
