//! Expressions meant to bring a server down: each must end in a value or a coded error, on a 2 MiB
//! stack, in bounded time.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking

use std::time::{Duration, Instant};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// Runs on a stack as small as the smallest we run on.
fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap()
}

/// The error code that an expression ends in; `None` if it ends in a value.
fn code_of(source: &str, input: &Value, limits: &Limits) -> Option<String> {
    let outcome = Expression::compile(source, &HostFunctions::none())
        .and_then(|expression| expression.evaluate(input, &NoHost, limits));
    let error = outcome.err()?;
    if error.code.starts_with('L') {
        assert!(error.span.is_some(), "{source:.80}: {error} has no span");
    }
    Some(error.code.to_string())
}

fn check(source: impl Into<String>, expected: &[&str]) {
    check_on(source, Value::Null, expected);
}

fn check_on(source: impl Into<String>, input: Value, expected: &[&str]) {
    let source = source.into();
    let expected: Vec<String> = expected.iter().map(|code| (*code).to_owned()).collect();
    on_small_stack(move || {
        let started = Instant::now();
        let limits = Limits {
            deadline: Some(started + Duration::from_secs(5)),
            ..Limits::default()
        };
        let code = code_of(&source, &input, &limits).unwrap_or_else(|| "value".to_owned());
        let shown: String = source.chars().take(100).collect();
        assert!(
            expected.contains(&code),
            "{shown} ended in {code}, expected {expected:?}"
        );
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{shown} took {:?}",
            started.elapsed()
        );
    });
}

#[test]
fn numbers_without_end() {
    check("$formatInteger(1/0, 'w')", &["D1001", "D3130", "value"]);
    check("$formatInteger(1e15, 'I')", &["value", "D3130", "L0003"]);
    check("$formatNumber(1/0, '0e0')", &["D1001", "value"]);
    check("$formatNumber(1e308, '0')", &["value"]);
    check("[-1e308..1e21]", &["D2014"]);
    check("[0..1e7]", &["D2014"]);
    check("[1..5000000]", &["L0004"]);
    check("$formatBase(1e308, 2)", &["value"]);
    check("$round(1.5, 1e300)", &["value"]);
    check("$round(1e300, -1e300)", &["value"]);
    check("$substring('abc', -1e300, 1e300)", &["value"]);
    check("$power(10, 400)", &["D3061"]);
    check("$fromMillis(1e300)", &["D1001", "D3134", "value"]);
}

#[test]
fn text_without_end() {
    check("$pad('x', -1e10)", &["L0003"]);
    check("$pad('x', 1/0)", &["L0003"]);
    check("$pad('x', 1e308, 'äö')", &["L0003"]);
    check(
        "($f := function($s, $n){ $n = 0 ? $s : $f($s & $s, $n - 1) }; $f('x', 60))",
        &["L0003"],
    );
    check(
        "$reduce([1..40], function($s){ $s & $s }, 'xx')",
        &["D3050"],
    );
    check(
        "$reduce([1..60], function($s, $i){ $s & $s }, 'xx')",
        &["L0003"],
    );
    check(
        "$reduce([1..60], function($s, $i){ $replace($s, 'x', 'xx') }, 'xx')",
        &["L0003", "L0001", "L0005"],
    );
    check(
        "$reduce([1..60], function($s, $i){ $join([$s, $s]) }, 'xx')",
        &["L0003"],
    );
}

#[test]
fn recursion_without_end() {
    check("($f := function($n){ 1 + $f($n) }; $f(1))", &["L0002"]);
    check("($f := function(){ $f() }; $f())", &["L0001", "L0005"]);
    check(
        "($f := function($n){ $g($n) }; $g := function($n){ $f($n) }; $f(1))",
        &["L0001", "L0005"],
    );
    check("($f := function($n){ $map([$n], $f) }; $f(1))", &["L0002"]);
    check("($f := function($n){ [$n].($f($)) }; $f(1))", &["L0002"]);
    check(
        "($f := function($n){ $sort([1, 2], function($a, $b){ $f($n) }) }; $f(1))",
        &["L0002"],
    );
    check(
        "($f := function($n){ $n ~> |$|{'a': $f($)}| }; $f({'a': 1}))",
        &["L0002"],
    );
    check("($f := function($n){ {'a': $f($n)} }; $f(1))", &["L0002"]);
    check("($f := function($n){ $n[$f($)] }; $f([1]))", &["L0002"]);
    check(
        "($f := function($n){ $n^($f($n)) }; $f([1, 2]))",
        &["L0002"],
    );
    check(
        "($f := function($n){ $n@$x.($f($x)) }; $f([1, 2]))",
        &["L0002"],
    );
    check(
        "($f := function($n){ ['a']{$: $f($n)} }; $f(1))",
        &["L0002"],
    );
    check("($f := function($n){ $n & $f($n) }; $f('a'))", &["L0002"]);
    check(
        "($f := function($n){ $replace('a', /a/, $f) }; $f('a'))",
        &["L0002"],
    );
    check("($s := '$eval($s)'; $eval($s))", &["L0002"]);
    check("($f := function($g){ $g($g) + 1 }; $f($f))", &["L0002"]);
}

#[test]
fn nesting_of_source() {
    for unit in [
        "(",
        "[",
        "-",
        "{'a':",
        "$f(",
        "a[",
        "function(){",
        "a.(",
        "a ? ",
        "a^(",
    ] {
        check(unit.repeat(20_000), &["L0002", "S0207", "S0203", "S0211"]);
    }
    check(
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        &["L0002"],
    );
    check(
        format!("{}1{}", "(".repeat(105), ")".repeat(105)),
        &["value"],
    );
    check(format!("{}1{}", "[".repeat(90), "]".repeat(90)), &["value"]);
    check(
        format!("{}1{}", "[".repeat(105), "]".repeat(105)),
        &["value", "L0006"],
    );
    check(format!("{}1", "1+".repeat(100_000)), &["L0002"]);
    check(format!("{}1", "1&".repeat(900)), &["value"]);
    check(format!("{}1", "1+".repeat(240)), &["value"]);
    check(format!("{}'x'", "1+".repeat(240)), &["T2002"]);
    check(format!("{}a", "a.".repeat(100_000)), &["L0002"]);
    check(format!("{}a", "a.".repeat(900)), &["value"]);
    check(format!("a{}", "[0]".repeat(900)), &["value"]);
    check(format!("{}1", "$a := ".repeat(100_000)), &["L0002"]);
    check("x".repeat(2 << 20), &["L0007"]);
    for link in [" + 1", " & 1", ".a", "[0]", " and 1", " ~> $f", " ? 1 : 1"] {
        let tower = (0..100).fold("1".to_owned(), |tower, _| {
            format!("({tower}){}", link.repeat(100))
        });
        check(tower, &["L0002"]);
        let leaning = format!("a{}", link.repeat(240));
        check(leaning, &["value", "L0002", "T1006", "T2006"]);
    }
}

#[test]
fn nesting_of_values() {
    check(
        "$reduce([1..5000], function($a, $i){ [[$a]] }, 1)",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ {'a': $a} }, 1)",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ $append([[$a]], []) }, 1)",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ $merge([{'a': $a}]) }, 1)",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ $zip([$a], [1]) }, 1)",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ {'a': 1} ~> |$|{'a': $a}| }, 1)",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ $a ~> |**[b]|{'b': {'b': 1}}| }, {'b': 1})",
        &["value"],
    );
    check(
        "$string($reduce([1..5000], function($a, $i){ [[$a], [1]] }, 1))",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ function(){ $a } }, 1)",
        &["value"],
    );
    check(
        "($f := function($g, $n){ $n = 0 ? $g : $f($g ~> $string, $n - 1) }; $f($string, 5000))",
        &["L0006"],
    );
    check(
        "$reduce([1..5000], function($a, $i){ $substring(?, $a) }, 1)",
        &["value"],
    );
    check(
        "($f := $reduce([1..5000], function($a, $i){ [[$a], $sum] }, 1); 1)",
        &["L0006"],
    );
    // Depth that only seems to grow is counted and found to be small.
    check(
        "$reduce([1..5000], function($a, $i){ {'p': {'x': $a.item}, 'item': [$i]} }, {'item': [0]})",
        &["value"],
    );
}

#[test]
fn searching_without_end() {
    let text = Value::from("a".repeat(40) + "b");
    check_on("$match($, /(a+)+$/)", text.clone(), &["value", "L0001"]);
    check_on(
        "$contains($, /^(a|a?)+$/)",
        text.clone(),
        &["value", "L0001"],
    );
    check_on(
        "$contains($, /^(?=(a+)+x)(?!b)/)",
        text.clone(),
        &["value", "L0001"],
    );
    check_on("$contains($, /(?:(a+)\\1)+x/)", text, &["value", "L0001"]);
    check("$match('abc', /x*/)", &["D1004"]);
    check("$replace('abc', /x*/, '-')", &["D1004"]);
    check("$split('abc', /x*/)", &["D1004"]);
    check("$contains('a', /((a{1000}){1000}){1000}/)", &["S0303"]);
    check("$replace('aaa', 'a', '$1$2$99')", &["value"]);
    check("$replace('aaa', /(a)/, '$1$2$99$')", &["value"]);
    check("$replace('abc', nothing, nothing)", &["T0410"]);
    check("$replace('abc', nothing, 'x')", &["T0410"]);
    check("$replace('abc', nothing, function($m) { '' })", &["T0410"]);
}

#[test]
fn a_wide_input() {
    let rows = (0..20_000).map(|n| {
        Value::object([
            ("id", Value::from(n)),
            ("tags", Value::array([Value::from(n)])),
        ])
    });
    let input = Value::object([("rows", Value::array(rows))]);
    check_on("$count(**)", input.clone(), &["value"]);
    check_on("rows.**.**", input.clone(), &["value", "L0004", "L0001"]);
    check_on("rows.$$.rows", input.clone(), &["L0004", "L0001"]);
    check_on(
        "$sort(rows, function($a, $b){ true })",
        input.clone(),
        &["value"],
    );
    check_on("rows{$string(id): tags}", input.clone(), &["value"]);
    check_on("$distinct(rows)", input, &["value"]);
}

#[test]
fn fuel_is_the_same_every_time() {
    let source = "$sum($map([1..1000], function($n){ $n * 2 }))";
    let ends = |fuel| {
        let limits = Limits {
            fuel,
            ..Limits::default()
        };
        code_of(source, &Value::Null, &limits)
    };
    let (mut low, mut high) = (0, 1_000_000);
    while low + 1 < high {
        let middle = (low + high) / 2;
        match ends(middle) {
            Some(_) => low = middle,
            None => high = middle,
        }
    }
    for _ in 0..3 {
        assert_eq!(ends(low).as_deref(), Some("L0001"));
        assert_eq!(ends(high), None);
    }
}

#[test]
fn a_deadline_ends_what_fuel_does_not() {
    let started = Instant::now();
    let limits = Limits {
        fuel: u64::MAX,
        deadline: Some(started + Duration::from_millis(200)),
        ..Limits::default()
    };
    let code = code_of("($f := function(){ $f() }; $f())", &Value::Null, &limits);
    assert_eq!(code.as_deref(), Some("L0005"));
    assert!(started.elapsed() < Duration::from_millis(400));
}
