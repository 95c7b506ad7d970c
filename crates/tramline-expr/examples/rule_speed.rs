//! The time that small rules take, in nanoseconds: `cargo run --release --example rule_speed`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;
use tramline_expr::{HostFunctions, Limits, NoHost, Rule, Value};

/// Timed batches. The fastest counts: the others were disturbed.
const BATCHES: usize = 3_000;
const RUNS: u32 = 200;

fn main() {
    let data = r#"{"order":{"status":"paid","total":120,"items":[{"price":5,"qty":2},
        {"price":10,"qty":1}]},"customer":{"tier":"gold","age":41},"limit":100}"#;
    let data: Value = serde_json::from_str(data).unwrap();
    for (name, rule) in [
        (
            "plain paths",
            r#"{"and":[{"==":[{"var":"order.status"},"paid"]},{">":[{"var":"order.total"},100]}]}"#,
        ),
        (
            "fields from the root",
            r#"{"and":[{"==":[{"var":"$.order.status"},"paid"]},
                {">":[{"var":"$.order.total"},{"var":"$.limit"}]}]}"#,
        ),
        (
            "expressions",
            r#"{"and":[{"==":[{"var":"order.total + 1"},121]},
                {"var":"customer.age > 18 and customer.tier = 'gold'"}]}"#,
        ),
        (
            "an aggregate",
            r#"{">":[{"var":"$sum(order.items.(price * qty))"},10]}"#,
        ),
        (
            "a filter of two",
            r#"{"some":[{"var":"order.items"},{">":[{"var":"price"},7]}]}"#,
        ),
        (
            "a reduce of two",
            r#"{"reduce":[{"var":"order.items"},
                {"+":[{"var":"accumulator"},{"var":"current.price"}]},0]}"#,
        ),
    ] {
        let rule = serde_json::from_str(rule).unwrap();
        let rule = Rule::compile(&rule, &HostFunctions::none()).unwrap();
        let limits = Limits::default();
        assert!(rule.holds(&data, &NoHost, &limits).unwrap(), "{name}");
        let best = (0..BATCHES)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..RUNS {
                    let _ = black_box(rule.holds(black_box(&data), &NoHost, &limits));
                }
                start.elapsed() / RUNS
            })
            .min()
            .unwrap_or_default();
        println!("{name}: {} ns", best.as_nanos());
    }
}
