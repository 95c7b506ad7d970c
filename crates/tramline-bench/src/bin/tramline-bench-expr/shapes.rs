//! The measured shapes: common expressions and rules in workflows, and their data.

use serde_json::{Value, json};

/// The shape that is also written by hand.
pub(crate) const FILTER_SUM: &str = "filter + sum of 1,000";

/// The data of a shape. Fields that an expression never names cost nothing here, but others convert
/// them, so each shape gets data of a fitting size.
#[derive(Clone, Copy)]
pub(crate) enum DataSize {
    /// An order with three items.
    Small,
    /// An order with a thousand items.
    Large,
}

/// Name, source and data.
pub(crate) const SHAPES: &[(&str, &str, DataSize)] = &[
    ("field chain", "customer.address.city", DataSize::Small),
    (
        "arithmetic",
        "order.price * order.quantity + 1",
        DataSize::Small,
    ),
    (
        "condition",
        "order.price > 100 and customer.tier = 'gold' ? 'fast' : 'slow'",
        DataSize::Small,
    ),
    (
        "concatenation",
        "customer.name & ' <' & customer.email & '>'",
        DataSize::Small,
    ),
    (
        "small object",
        "{'id': order.id, 'total': order.price * order.quantity, 'to': customer.email}",
        DataSize::Small,
    ),
    ("fields of 1,000", "items.price", DataSize::Large),
    ("sum of 1,000", "$sum(items.price)", DataSize::Large),
    (FILTER_SUM, "$sum(items[price > 50].price)", DataSize::Large),
    (
        "filter of 1,000",
        "items[category = 'tools' and price < 20].id",
        DataSize::Large,
    ),
    (
        "objects of 1,000",
        "items.{'id': id, 'total': price * quantity}",
        DataSize::Large,
    ),
    (
        "map of 1,000",
        "$map(items, function($i){ $i.price * $i.quantity })",
        DataSize::Large,
    ),
    (
        "reduce of 1,000",
        "$reduce(items.price, function($a, $b){ $a + $b })",
        DataSize::Large,
    ),
    ("sort of 1,000", "items^(>price, id).id", DataSize::Large),
    (
        "group of 1,000",
        "items{category: $sum(price)}",
        DataSize::Large,
    ),
    (
        "strings",
        "$join($split(customer.name, ' ').$uppercase($), '-')",
        DataSize::Small,
    ),
    (
        "recursion",
        "($f := function($n){ $n < 2 ? $n : $f($n - 1) + $f($n - 2) }; $f(12))",
        DataSize::Small,
    ),
];

/// Name, rule, and whether a `var` in it is JSONata, which other implementations lack.
pub(crate) const RULES: &[(&str, &str, bool)] = &[
    (
        "plain paths",
        r#"{"and":[{"==":[{"var":"order.status"},"paid"]},{">":[{"var":"order.total"},100]}]}"#,
        false,
    ),
    (
        "a filter of two",
        r#"{"some":[{"var":"order.items"},{">":[{"var":"price"},7]}]}"#,
        false,
    ),
    (
        "a reduce of two",
        r#"{"reduce":[{"var":"order.items"},{"+":[{"var":"accumulator"},{"var":"current.price"}]},0]}"#,
        false,
    ),
    (
        "fields from the root",
        r#"{"and":[{"==":[{"var":"$.order.status"},"paid"]},{">":[{"var":"$.order.total"},{"var":"$.limit"}]}]}"#,
        true,
    ),
    (
        "expressions",
        r#"{"and":[{"==":[{"var":"order.total + 1"},121]},{"var":"customer.age > 18 and customer.tier = 'gold'"}]}"#,
        true,
    ),
    (
        "an aggregate",
        r#"{">":[{"var":"$sum(order.items.(price * qty))"},10]}"#,
        true,
    ),
];

/// The data of the shapes: small records and a list.
pub(crate) fn input(data: DataSize) -> Value {
    let categories = ["tools", "toys", "books", "food"];
    let count = match data {
        DataSize::Small => 3,
        DataSize::Large => 1000,
    };
    let items = (0..count).map(|n: usize| {
        json!({
            "id": n,
            "name": format!("item {n}"),
            "category": categories[n % 4],
            "price": (n * 7919 % 1000) as f64 / 10.0,
            "quantity": n % 9 + 1,
        })
    });
    json!({
        "customer": {
            "name": "Ada King Lovelace",
            "email": "ada@example.com",
            "tier": "gold",
            "address": { "city": "London" },
        },
        "order": { "id": "o-1", "price": 120.5, "quantity": 3 },
        "items": items.collect::<Vec<_>>(),
    })
}

/// The data of the rules.
pub(crate) fn order() -> Value {
    json!({
        "order": {
            "status": "paid",
            "total": 120,
            "items": [{ "price": 5, "qty": 2 }, { "price": 10, "qty": 1 }],
        },
        "customer": { "tier": "gold", "age": 41 },
        "limit": 100,
    })
}
