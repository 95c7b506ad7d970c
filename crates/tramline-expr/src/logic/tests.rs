//! JSON Logic against the official suites, against `json-logic-js`, and at its limits.

use super::*;
use crate::host::NoHost;
use crate::limits::Limits;
use serde_json::json;

mod differential;
mod robust;
mod suite;

fn value(json: serde_json::Value) -> Value {
    serde_json::from_value(json).unwrap()
}

fn rule(json: serde_json::Value) -> Rule {
    Rule::compile(&value(json), &HostFunctions::none()).unwrap()
}

fn flaw(json: serde_json::Value) -> RuleError {
    Rule::compile(&value(json), &HostFunctions::none()).unwrap_err()
}

fn run(json: serde_json::Value, data: serde_json::Value) -> Value {
    rule(json)
        .evaluate(&value(data), &NoHost, &Limits::default())
        .unwrap()
}

#[test]
fn unknown_operators_come_with_a_suggestion() {
    let error = flaw(json!({"and": [true, {"fliter": [[1], true]}]}));
    assert_eq!(error.path, "/and/1/fliter");
    assert_eq!(error.error.code, "J0001");
    assert_eq!(error.error.value, Some(value(json!(["filter"]))));
    assert!(
        error.to_string().contains("did you mean `filter`?"),
        "{error}"
    );
    assert_eq!(
        flaw(json!({"NOT": true})).error.value,
        Some(value(json!(["!"])))
    );
    assert_eq!(flaw(json!({"/x": [{"a/b": 1}]})).path, "/~1x");
    assert_eq!(
        flaw(json!({"zzzzzz": 1})).error.value,
        Some(value(json!([])))
    );
}

#[test]
fn what_would_throw_is_a_flaw() {
    assert_eq!(flaw(json!({"*": []})).error.code, "J0003");
    assert_eq!(flaw(json!({"missing_some": [1]})).error.code, "J0003");
    let deep = (0..200).fold(json!(1), |rule, _| json!({"!": [rule]}));
    assert_eq!(flaw(deep).error.code, "J0002");
}

#[test]
fn data_is_never_evaluated() {
    let data = json!({"a": {"var": "b"}, "b": 3, "p": "$sum([1,2])", "l": [{"var": "b"}]});
    assert_eq!(
        run(json!({"var": "a"}), data.clone()),
        value(json!({"var": "b"}))
    );
    assert_eq!(run(json!({"var": {"var": "p"}}), data.clone()), Value::Null);
    assert_eq!(
        run(json!({"missing": {"var": "l"}}), data.clone()),
        value(json!([{"var": "b"}]))
    );
    assert_eq!(
        run(json!({"map": [{"var": "l"}, {"var": ""}]}), data),
        value(json!([{"var": "b"}]))
    );
}

#[test]
fn an_empty_list_does_not_hold() {
    let holds = |json, data| {
        rule(json)
            .holds(&value(data), &NoHost, &Limits::default())
            .unwrap()
    };
    assert!(!holds(json!({"var": "a"}), json!({"a": []})));
    assert!(holds(json!({"var": "a"}), json!({"a": [0]})));
    assert!(holds(json!({"var": "a"}), json!({"a": {}})));
}

#[test]
fn results_are_data() {
    assert_eq!(run(json!({"and": []}), json!(null)), Value::Null);
    assert_eq!(
        run(json!([{"/": [1, 0]}, {"+": "x"}, 1]), json!(null)),
        value(json!([null, null, 1]))
    );
    assert_eq!(
        run(json!({"<": [{"/": [-1, 0]}, 0]}), json!(null)),
        true.into()
    );
}

fn limited(json: serde_json::Value, data: serde_json::Value, limits: Limits) -> String {
    let outcome = rule(json).evaluate(&value(data), &NoHost, &limits);
    outcome.unwrap_err().code.to_string()
}

#[test]
fn limits_hold() {
    let many: Vec<u32> = (0..1000).collect();
    let grow = json!({"reduce": [{"var": ""}, {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}, "x"]});
    assert_eq!(limited(grow, json!(many), Limits::default()), "L0003");
    let merge = json!({"merge": [{"var": "accumulator"}, {"var": "accumulator"}]});
    let grow = json!({"reduce": [{"var": ""}, merge, [1]]});
    assert_eq!(limited(grow, json!(many), Limits::default()), "L0004");
    let nest = json!({"reduce": [{"var": ""}, [{"var": "accumulator"}], 1]});
    assert_eq!(limited(nest, json!(many), Limits::default()), "L0006");
    let nest = json!({"reduce": [{"var": ""}, {"var": ""}, 1]});
    assert_eq!(limited(nest, json!(many), Limits::default()), "L0006");
    let double =
        json!({"reduce": [{"var": ""}, [{"var": "accumulator"}, {"var": "accumulator"}], 1]});
    let code = limited(double, json!(many), Limits::default());
    assert!(code == "L0001" || code == "L0006", "{code}");
    // Sixty steps build a value of sixty lists that prints as 2^60 numbers.
    let double =
        json!([{"reduce": [{"var": ""}, [{"var": "accumulator"}, {"var": "accumulator"}], 1]}]);
    assert_eq!(
        limited(double, json!(many[..60]), Limits::default()),
        "L0001"
    );
    let each = json!({"map": [{"var": ""}, {"+": [{"var": ""}, 1]}]});
    let fuel = Limits {
        fuel: 100,
        ..Limits::default()
    };
    assert_eq!(limited(each, json!(many), fuel), "L0001");
    let deep = (0..40).fold(json!({"var": "x"}), |rule, _| json!({"!": [rule]}));
    let depth = Limits {
        depth: 20,
        ..Limits::default()
    };
    assert_eq!(limited(deep, json!({}), depth), "L0002");
    let late = Limits {
        deadline: Some(std::time::Instant::now()),
        ..Limits::default()
    };
    let each =
        json!({"map": [{"var": ""}, {"map": [[1, 2, 3, 4, 5, 6], {"+": [{"var": ""}, 1]}]}]});
    assert_eq!(limited(each, json!(many), late), "L0005");
}

#[test]
fn a_flat_list_may_be_built_by_any_number_of_steps() {
    let many: Vec<u32> = (0..5000).collect();
    let body = json!({"merge": [{"var": "accumulator"}, [[{"var": "current"}]]]});
    let limits = Limits {
        items: 50_000_000,
        fuel: 100_000_000,
        ..Limits::default()
    };
    let built = rule(json!({"reduce": [{"var": ""}, body, []]}))
        .evaluate(&value(json!(many)), &NoHost, &limits)
        .unwrap();
    assert_eq!(built.as_array().map(<[Value]>::len), Some(5000));
}

#[test]
fn explanations_show_every_operand() {
    let rule = rule(
        json!({"and": [{">": [{"var": "a"}, 1]}, {"map": [{"var": "l"}, {"-": [{"var": ""}]}]}]}),
    );
    let data = value(json!({"a": 5, "l": [1, 2]}));
    let told = rule.explain(&data, &NoHost, &Limits::default());
    assert_eq!(told.operator, "and");
    assert_eq!(told.value, Some(value(json!([-1, -2]))));
    let more = &told.children[0];
    assert_eq!(
        (more.operator.as_str(), more.path.as_str()),
        (">", "/and/0/>")
    );
    assert_eq!(more.children[0].value, Some(5.into()));
    assert_eq!(more.children[1].value, Some(1.into()));
    let inside = told.children[1].children.iter();
    let operators: Vec<_> = inside.map(|part| part.operator.as_str()).collect();
    assert_eq!(operators, ["var", "-", "-"]);
    let short = Limits {
        fuel: 3,
        ..Limits::default()
    };
    let told = rule.explain(&data, &NoHost, &short);
    assert_eq!(told.error.unwrap().code, "L0001");
}

#[test]
fn a_var_may_be_jsonata() {
    let data = json!({"items": [{"p": 2, "q": 3}, {"p": 4, "q": 1}], "a": {"b": 5}, "l": [{"x": 1}, {"x": 2}]});
    for (rule, result) in [
        (json!({"var": "$sum(items.(p * q))"}), json!(10)),
        (json!({"var": "$.a.b"}), json!(5)),
        (json!({"var": "$.l.x"}), json!([1, 2])),
        (json!({"var": "$.l.0.x"}), json!(1)),
        (json!({"var": ["$.nope.b", 7]}), json!(7)),
        (json!({"var": ["$sum(nope)", "none"]}), json!("none")),
        (json!({"var": "$count(items)"}), json!(2)),
        (
            json!({"map": [{"var": "items"}, {"var": "p + q"}]}),
            json!([5, 5]),
        ),
        (
            json!({"filter": [{"var": "items"}, {">": [{"var": "$.p"}, 3]}]}),
            json!([{"p": 4, "q": 1}]),
        ),
        (
            json!({"reduce": [{"var": "items"}, {"var": "accumulator + current.p"}, 0]}),
            json!(6),
        ),
        (json!({"var": "$"}), data.clone()),
        (
            json!({"some": [{"var": "l[x > 1]"}, {"==": [{"var": "x"}, 2]}]}),
            json!(false),
        ),
    ] {
        assert_eq!(run(rule.clone(), data.clone()), value(result), "{rule}");
    }
}

#[test]
fn a_flaw_in_an_expression_has_its_place_in_the_rule() {
    let error = flaw(json!({"if": [true, {"var": ["$sum(", 1]}]}));
    assert_eq!(error.path, "/if/1/var/0");
    assert!(error.error.code.starts_with('S'), "{error}");
    assert_eq!(flaw(json!({"!": {"var": "a +"}})).path, "/!/var");
    let error = rule(json!({"!": {"var": "$number('x')"}}))
        .evaluate(&Value::Null, &NoHost, &Limits::default())
        .unwrap_err();
    assert_eq!(error.code, "D3030");
    assert!(
        error.message.ends_with("(in the rule at /!/var)"),
        "{error}"
    );
}

#[test]
fn expressions_share_the_limits_of_their_rule() {
    let many: Vec<u32> = (0..1000).collect();
    let each = json!({"map": [{"var": ""}, {"var": "$sum([1..100])"}]});
    let fuel = Limits {
        fuel: 20_000,
        ..Limits::default()
    };
    assert_eq!(limited(each.clone(), json!(many), fuel), "L0001");
    assert_eq!(
        limited(
            each,
            json!(many),
            Limits {
                items: 20_000,
                ..Limits::default()
            }
        ),
        "L0004"
    );
    let text = json!({"map": [{"var": ""}, {"var": "$pad('x', 1000)"}]});
    assert_eq!(
        limited(
            text,
            json!(many),
            Limits {
                bytes: 20_000,
                ..Limits::default()
            }
        ),
        "L0003"
    );
}

#[test]
fn expressions_are_explained_inside_their_var() {
    let rule = rule(json!({">": [{"var": "a.b * 2"}, 3]}));
    let told = rule.explain(&value(json!({"a": {"b": 5}})), &NoHost, &Limits::default());
    let var = &told.children[0];
    assert_eq!(var.value, Some(10.into()));
    let inside = var.expression.as_ref().unwrap();
    assert_eq!(inside.value, Some(10.into()));
    assert_eq!(inside.children[0].value, Some(5.into()));
}

#[test]
fn host_calls_are_found_at_any_depth() {
    let rule = json!({"if": [{"==": [{"var": "$count(\"a\") + 1"}, 1]}, {"map": [[1], {"var": "$before(2)"}]}]});
    let functions = HostFunctions::new(["before", "executions"]);
    let calls = Rule::compile(&value(rule), &functions)
        .unwrap()
        .host_calls();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].function, calls[0].called), (0, true));
    assert_eq!(calls[0].arguments, [Some(2.into())]);
}

#[test]
fn rules_are_shared_between_threads() {
    fn shared<T: Clone + Send + Sync>() {}
    shared::<Rule>();
}

/// The stack of the smallest threads we run on.
const STACK_BYTES: usize = 2 << 20;

#[test]
fn the_deepest_rules_fit_a_small_stack() {
    fn nested(name: &str, depth: usize) -> serde_json::Value {
        (0..depth).fold(json!({"var": "$sum([1, 2])"}), |rule, _| match name {
            "list" => json!([rule]),
            "map" => json!({"map": [[1], rule]}),
            "reduce" => json!({"reduce": [[1, 2], rule, []]}),
            "var" => json!({"var": ["nope", rule]}),
            name => json!({ name: [rule] }),
        })
    }
    let work = || {
        for name in [
            "list", "map", "reduce", "var", "!", "and", "if", "+", "cat", "merge", "log",
            "missing", "max",
        ] {
            for depth in [30, 45, 90] {
                let Ok(rule) = Rule::compile(&value(nested(name, depth)), &HostFunctions::none())
                else {
                    continue;
                };
                let limits = Limits {
                    fuel: 1_000_000,
                    ..Limits::default()
                };
                let _ = rule.evaluate(&Value::Null, &NoHost, &limits);
                let _ = rule.explain(&Value::Null, &NoHost, &limits);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(work).unwrap().join().unwrap();
}
