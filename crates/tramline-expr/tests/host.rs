//! Host functions: found when compiling, called when evaluating, and shadowed by the user's own
//! names.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking

use std::cell::RefCell;
use tramline_expr::{Expression, Host, HostFunctions, Limits, Value};

#[derive(Default)]
struct Recorder {
    calls: RefCell<Vec<(usize, Vec<Option<Value>>)>>,
}

impl Host for Recorder {
    fn call(&self, function: usize, arguments: &[Option<Value>]) -> Result<Option<Value>, String> {
        self.calls.borrow_mut().push((function, arguments.to_vec()));
        match function {
            0 => Ok(Some(Value::from(7))),
            1 => Ok(None),
            _ => Err("not today".to_owned()),
        }
    }

    fn now_ms(&self) -> i64 {
        1_700_000_000_000
    }

    fn random(&self) -> f64 {
        0.25
    }
}

const FUNCTIONS: HostFunctions = HostFunctions::from_static(&["seven", "nothing", "fails"]);

fn evaluate(source: &str) -> Result<Option<Value>, tramline_expr::ExprError> {
    let expression = Expression::compile(source, &FUNCTIONS)?;
    expression.evaluate(&Value::Null, &Recorder::default(), &Limits::default())
}

#[test]
fn called_with_values_and_without() {
    let host = Recorder::default();
    let expression = Expression::compile("$seven('a', missing, [1..2])", &FUNCTIONS).unwrap();
    let value = expression
        .evaluate(&Value::Null, &host, &Limits::default())
        .unwrap();
    assert_eq!(value, Some(Value::from(7)));
    let list = Value::from_json("[1, 2]").unwrap();
    let expected = vec![(0, vec![Some(Value::from("a")), None, Some(list)])];
    assert_eq!(*host.calls.borrow(), expected);
}

#[test]
fn undefined_and_errors_come_through() {
    assert_eq!(
        evaluate("$exists($nothing())").unwrap(),
        Some(Value::from(false))
    );
    let error = evaluate("1 + $fails()").unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("H0001", "not today")
    );
    assert_eq!(error.span, Some(10..11));
}

#[test]
fn a_value_like_any_function() {
    assert_eq!(
        evaluate("$map([1, 2], $seven)").unwrap(),
        Some(Value::from_json("[7, 7]").unwrap())
    );
    assert_eq!(
        evaluate("$type($seven)").unwrap(),
        Some(Value::from("function"))
    );
    assert_eq!(
        evaluate("($seven := function(){ 8 }; $seven())").unwrap(),
        Some(Value::from(8))
    );
}

#[test]
fn all_places_are_listed() {
    let source = "$seven('a', x) & $map([1], $nothing) & ($seven := 1)";
    let expression = Expression::compile(source, &FUNCTIONS).unwrap();
    let calls: Vec<_> = expression
        .host_calls()
        .iter()
        .map(|call| (call.function, call.called))
        .collect();
    assert_eq!(calls, [(0, true), (1, false)]);
    assert_eq!(
        expression.host_calls()[0].arguments,
        [Some(Value::from("a")), None]
    );
}

#[test]
fn the_clock_does_not_move_during_an_evaluation() {
    assert_eq!(
        evaluate("$millis() = $millis()").unwrap(),
        Some(Value::from(true))
    );
    assert_eq!(
        evaluate("$now()").unwrap(),
        Some(Value::from("2023-11-14T22:13:20.000Z"))
    );
    assert_eq!(evaluate("$random()").unwrap(), Some(Value::from(0.25)));
}

#[test]
fn expressions_go_between_threads() {
    fn check<T: Send + Sync + Clone>() {}
    check::<Expression>();
}

#[test]
fn only_what_is_named_is_touched() {
    let wide = (0..10_000).map(|n| (format!("node{n}"), Value::object([("out", Value::from(n))])));
    let input = Value::object(wide);
    let expression = Expression::compile("node9999.out + 1", &FUNCTIONS).unwrap();
    let limits = Limits {
        fuel: 50,
        ..Limits::default()
    };
    let value = expression
        .evaluate(&input, &Recorder::default(), &limits)
        .unwrap();
    assert_eq!(value, Some(Value::from(10_000)));
}

#[test]
fn results_share_the_input() {
    let input = Value::object([("big", Value::array((0..100).map(Value::from)))]);
    let expression = Expression::compile("{'kept': big}", &FUNCTIONS).unwrap();
    let value = expression
        .evaluate(&input, &Recorder::default(), &Limits::default())
        .unwrap()
        .unwrap();
    let (Some(Value::Array(before)), Some(Value::Array(after))) =
        (input.get("big"), value.get("kept"))
    else {
        panic!("both hold the array");
    };
    assert!(std::sync::Arc::ptr_eq(before, after));
}

#[test]
fn the_right_side_of_apply_is_evaluated_once() {
    let host = Recorder::default();
    let expression = Expression::compile("1 ~> ($seven(); 2)", &FUNCTIONS).unwrap();
    let error = expression
        .evaluate(&Value::Null, &host, &Limits::default())
        .unwrap_err();
    assert_eq!(error.code.as_str(), "T2006");
    assert_eq!(host.calls.borrow().len(), 1);
}
