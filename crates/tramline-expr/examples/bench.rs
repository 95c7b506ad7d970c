//! Nanoseconds per evaluation for the kinds of expressions that are common in workflows.

use std::hint::black_box;
use std::time::{Duration, Instant};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

const SHAPES: &[(&str, &str)] = &[
    ("field chain", "customer.address.city"),
    ("arithmetic", "order.price * order.quantity + 1"),
    (
        "condition",
        "order.price > 100 and customer.tier = 'gold' ? 'fast' : 'slow'",
    ),
    (
        "concatenation",
        "customer.name & ' <' & customer.email & '>'",
    ),
    (
        "small object",
        "{'id': order.id, 'total': order.price * order.quantity, 'to': customer.email}",
    ),
    ("fields of 1,000", "items.price"),
    ("sum of 1,000", "$sum(items.price)"),
    ("filter + sum of 1,000", "$sum(items[price > 50].price)"),
    (
        "filter of 1,000",
        "items[category = 'tools' and price < 20].id",
    ),
    (
        "objects of 1,000",
        "items.{'id': id, 'total': price * quantity}",
    ),
    (
        "map of 1,000",
        "$map(items, function($i){ $i.price * $i.quantity })",
    ),
    (
        "reduce of 1,000",
        "$reduce(items.price, function($a, $b){ $a + $b })",
    ),
    ("sort of 1,000", "items^(>price, id).id"),
    ("group of 1,000", "items{category: $sum(price)}"),
    (
        "strings",
        "$join($split(customer.name, ' ').$uppercase($), '-')",
    ),
    (
        "recursion",
        "($f := function($n){ $n < 2 ? $n : $f($n - 1) + $f($n - 2) }; $f(12))",
    ),
];

fn main() {
    let items = (0..1000).map(|n| {
        Value::object([
            ("id", Value::from(n)),
            ("name", Value::from(format!("item {n}"))),
            (
                "category",
                Value::from(["tools", "toys", "books", "food"][n % 4]),
            ),
            ("price", Value::from((n * 7919 % 1000) as f64 / 10.0)),
            ("quantity", Value::from(n % 9 + 1)),
        ])
    });
    let input = Value::object([
        (
            "customer",
            Value::object([
                ("name", Value::from("Ada King Lovelace")),
                ("email", Value::from("ada@example.com")),
                ("tier", Value::from("gold")),
                ("address", Value::object([("city", Value::from("London"))])),
            ]),
        ),
        (
            "order",
            Value::object([
                ("id", Value::from("o-1")),
                ("price", Value::from(120.5)),
                ("quantity", Value::from(3)),
            ]),
        ),
        ("items", Value::array(items)),
    ]);
    let hand = time(|| {
        let items = input
            .get("items")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let price = |item: &Value| item.get("price").and_then(Value::as_f64).unwrap_or(0.0);
        black_box(
            items
                .iter()
                .map(price)
                .filter(|price| *price > 50.0)
                .sum::<f64>(),
        );
    });
    report("filter + sum by hand", hand);
    for (name, source) in SHAPES {
        match Expression::compile(source, &HostFunctions::none()) {
            Ok(expression) => {
                let limits = Limits::default();
                report(
                    name,
                    time(|| {
                        let _ = black_box(expression.evaluate(black_box(&input), &NoHost, &limits));
                    }),
                );
            }
            Err(error) => report(&format!("{name}: {error}"), 0.0),
        }
    }
}

/// The best of many short rounds, so that other load on the machine does not count.
fn time(mut run: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut runs = 0u32;
    while started.elapsed() < Duration::from_millis(20) {
        run();
        runs += 1;
    }
    let batch = runs.div_ceil(40);
    let mut best = f64::INFINITY;
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(300) {
        let round = Instant::now();
        for _ in 0..batch {
            run();
        }
        best = best.min(round.elapsed().as_nanos() as f64 / f64::from(batch));
    }
    best
}

#[allow(clippy::print_stdout)] // it is a report
fn report(name: &str, nanos: f64) {
    println!("{name:<24} {nanos:>12.1} ns");
}
