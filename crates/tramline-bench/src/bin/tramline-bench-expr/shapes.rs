//! What is measured: the shapes that expressions and rules in workflows mostly have, and the data
//! they are evaluated on.

use serde_json::{Value, json};

/// The shape that is also written by hand.
pub(crate) const FILTER_SUM: &str = "filter + sum of 1,000";

/// Name and source.
pub(crate) const SHAPES: &[(&str, &str)] = &[
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
    (FILTER_SUM, "$sum(items[price > 50].price)"),
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

/// Name, rule, and whether a `var` in it is JSONata, which other implementations do not have.
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

/// What the shapes are evaluated on: small records and a list of a thousand.
pub(crate) fn input() -> Value {
    let categories = ["tools", "toys", "books", "food"];
    let items = (0..1000usize).map(|n| {
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

/// What the rules are evaluated on.
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
