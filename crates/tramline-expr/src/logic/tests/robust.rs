//! Any rule over any data gives a result or an error, in bounded time.

use super::*;
use proptest::prelude::*;
use serde_json::{Map as JsonMap, Value as Json};
use std::time::{Duration, Instant};

const NAMES: [&str; 36] = [
    "==",
    "===",
    "!=",
    "!==",
    "!",
    "!!",
    "or",
    "and",
    "if",
    "?:",
    ">",
    ">=",
    "<",
    "<=",
    "max",
    "min",
    "+",
    "-",
    "*",
    "/",
    "%",
    "map",
    "filter",
    "reduce",
    "all",
    "none",
    "some",
    "merge",
    "in",
    "cat",
    "substr",
    "log",
    "missing",
    "missing_some",
    "var",
    "nonsense",
];

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-c.$0-9 é😀\\[\\]()*+-]{0,8}".prop_map(Json::from),
        prop::sample::select(vec![
            "accumulator",
            "current",
            "$",
            "a.b",
            "$sum(a)",
            "length"
        ])
        .prop_map(Json::from),
    ]
}

fn rule() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(6, 48, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            list.clone().prop_map(Json::from),
            (prop::sample::select(NAMES.to_vec()), list)
                .prop_map(|(name, list)| json!({ name: list })),
            (prop::sample::select(NAMES.to_vec()), inner.clone())
                .prop_map(|(name, only)| json!({ name: only })),
            prop::collection::vec(("[ab]", inner), 0..3)
                .prop_map(|pairs| Json::from(pairs.into_iter().collect::<JsonMap<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn anything_ends_well(rule in rule(), data in rule()) {
        let (rule, data) = (value(rule), value(data));
        let Ok(rule) = Rule::compile(&rule, &HostFunctions::none()) else {
            return Ok(());
        };
        let start = Instant::now();
        let limits = Limits { fuel: 100_000, ..Limits::default() };
        let result = rule.evaluate(&data, &NoHost, &limits);
        let holds = rule.holds(&data, &NoHost, &limits);
        let told = rule.explain(&data, &NoHost, &limits);
        if let (Ok(result), Ok(holds)) = (&result, holds) {
            // Infinity is truthy, as in JavaScript, and becomes null as data.
            prop_assert!(coerce::truthy(Some(result)) == holds || result.is_null());
            prop_assert!(told.error.is_none());
        }
        prop_assert!(start.elapsed() < Duration::from_secs(5));
    }
}
