//! What is measured: the shapes that expressions and rules in workflows mostly have, and the data
//! they are evaluated on.

use serde_json::{Value, json};

/// The shape that is also written by hand.
pub(crate) const FILTER_SUM: &str = "filter + sum of 1,000";

/// What a shape is evaluated on. What an expression never names costs nothing here but is converted
/// by others, so each gets as much as it is for.
#[derive(Clone, Copy)]
pub(crate) enum Data {
    /// An order with three items.
    Small,
    /// The same with a thousand.
    Large,
}

/// Name, source, and what it is evaluated on.
pub(crate) const SHAPES: &[(&str, &str, Data)] = &[
    ("field chain", "customer.address.city", Data::Small),
    (
        "arithmetic",
        "order.price * order.quantity + 1",
        Data::Small,
    ),
    (
        "condition",
        "order.price > 100 and customer.tier = 'gold' ? 'fast' : 'slow'",
        Data::Small,
    ),
    (
        "concatenation",
        "customer.name & ' <' & customer.email & '>'",
        Data::Small,
    ),
    (
        "small object",
        "{'id': order.id, 'total': order.price * order.quantity, 'to': customer.email}",
        Data::Small,
    ),
    ("fields of 1,000", "items.price", Data::Large),
    ("sum of 1,000", "$sum(items.price)", Data::Large),
    (FILTER_SUM, "$sum(items[price > 50].price)", Data::Large),
    (
        "filter of 1,000",
        "items[category = 'tools' and price < 20].id",
        Data::Large,
    ),
    (
        "objects of 1,000",
        "items.{'id': id, 'total': price * quantity}",
        Data::Large,
    ),
    (
        "map of 1,000",
        "$map(items, function($i){ $i.price * $i.quantity })",
        Data::Large,
    ),
    (
        "reduce of 1,000",
        "$reduce(items.price, function($a, $b){ $a + $b })",
        Data::Large,
    ),
    ("sort of 1,000", "items^(>price, id).id", Data::Large),
    (
        "group of 1,000",
        "items{category: $sum(price)}",
        Data::Large,
    ),
    (
        "strings",
        "$join($split(customer.name, ' ').$uppercase($), '-')",
        Data::Small,
    ),
    (
        "recursion",
        "($f := function($n){ $n < 2 ? $n : $f($n - 1) + $f($n - 2) }; $f(12))",
        Data::Small,
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

/// What the shapes are evaluated on: small records and a list.
pub(crate) fn input(data: Data) -> Value {
    let categories = ["tools", "toys", "books", "food"];
    let count = match data {
        Data::Small => 3,
        Data::Large => 1000,
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
