//! Behaviour of the reference that its suite does not cover, found by running both side by side.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// Expression, input, and the result of the reference.
const SAME: &[(&str, &str, &str)] = &[
    // A function that ends in calling a built-in returns a sequence of one unchanged.
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
    // The right side of ?? and ?: extends to the end.
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
    // NaN is a value, which JSON writes as null.
    ("$parseInteger('x', '0') != 1", "null", "true"),
    ("$string([$parseInteger('x', '0')])", "null", r#""[null]""#),
    ("$boolean($parseInteger('x', '0'))", "null", "false"),
    ("$substring('hello', missing, 3)", "null", r#""""#),
    ("$split('a-b', '-', $parseInteger('x', '0'))", "null", "[]"),
    ("$formatBase($round(10, 0.5), 16)", "null", r#""NaN""#),
    ("$formatBase($round(10, 10000), 16)", "null", r#""NaN""#),
    (
        "$formatBase($max([1, $parseInteger('x', '0')]), 16)",
        "null",
        r#""NaN""#,
    ),
    (
        "$formatNumber($parseInteger('x', '0'), '0.00')",
        "null",
        r#""-NaN.00""#,
    ),
    // If an array is among the values of `*`, the result is an array of any size.
    ("*", r#"{"a": [1]}"#, "[1]"),
    ("*", r#"{"a": [], "b": 2}"#, "[2]"),
    ("*", r#"{"a": 1}"#, "1"),
    // Terms of an order-by are evaluated when items are compared.
    ("[3]^($error('x'))", "null", "3"),
    ("[3,1,2]^($parseInteger('x', '0'))", "null", "[2,1,3]"),
    // No parent is resolved from within `~>`.
    ("a.b.[% ~> $keys, %.b]", r#"{"a": {"b": 1}}"#, "1"),
    // The first test that rejects ends the tests, even on undefined.
    ("[(missing)[false][$error('x')], 1]", "null", "[1]"),
    ("[missing[false][$error('x')], 1]", "null", "[1]"),
    // A filter on an array at the start of a path.
    ("[1, 2, 3][$ > 1].($)", "null", "[2,3]"),
    ("[[1, 2], 3][0].($)", "null", "[1,2]"),
    ("[[1, 2][false].(1), 3]", "null", "[3]"),
    ("[[][0].(1), 3]", "null", "[3]"),
    // Fractional positions.
    ("$substring('abcdef', -3.9, 2.5)", "null", r#""d""#),
    ("$substring('abcdef', -5.5, 4)", "null", r#""bcd""#),
    ("$substring('abcdef', -6.5)", "null", r#""abcdef""#),
    ("$substring('abcdef', 1.5, 1.6)", "null", r#""bc""#),
    // Sums of what the last step calculates.
    (
        "$sum(a.(b * c))",
        r#"{"a": [{"b": 2, "c": 3}, {"b": 4}, {"b": 1, "c": 1}]}"#,
        "7",
    ),
    (
        "$sum(a.(b * c))",
        r#"{"a": [[{"b": 2, "c": 3}], {"b": 1, "c": 1}]}"#,
        "7",
    ),
    ("$count(a.(b > 1))", r#"{"a": [{"b": 2}, {"b": 1}]}"#, "2"),
    ("a.(b * 2)", r#"{"a": [{"b": 2}]}"#, "4"),
    ("a.(b * 2)[]", r#"{"a": [{"b": 2}]}"#, "[4]"),
    ("a.(1 + 1)", r#"{"a": null}"#, "2"),
];

/// Expression, code, and position.
const FAILING: &[(&str, &str, Option<usize>)] = &[
    ("$replace('a-b', missing, 'x')", "T0410", Some(9)),
    ("$replace('a-b', missing, missing)", "T0410", Some(9)),
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
    ("missing[true][$number('x')]", "D3030", Some(22)),
    // The reference reports no position here.
    ("5 ~> |$|{'x': 1}|", "T0410", Some(4)),
    ("[1, 2][1 / 0]", "D1001", Some(10)),
    ("[1, 2] ~> |$|{'x': $error('e')}|", "D3137", Some(26)),
    ("-$parseInteger('x', '0')", "D1002", Some(1)),
    ("1 + $parseInteger('x', '0')", "T2002", Some(3)),
    ("$power(1, $parseInteger('x', '0'))", "D3061", Some(7)),
    ("$sort([1, $parseInteger('x', '0')])", "D3070", Some(6)),
    ("[1, null, 'a', 2]^($)", "T2008", Some(18)),
    ("['a', 1, null, 2]^($)", "T2007", Some(18)),
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
