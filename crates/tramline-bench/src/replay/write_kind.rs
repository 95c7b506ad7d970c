//! Whether a recorded write was right: equal to an expected action of its task.

use serde_json::Value as Json;
use std::collections::HashMap;
use tramline_expr::Value;

/// The tools that change the shop's records.
pub(super) const WRITES: [&str; 7] = [
    "cancel_pending_order",
    "modify_pending_order_address",
    "modify_pending_order_payment",
    "modify_pending_order_items",
    "return_delivered_order_items",
    "exchange_delivered_order_items",
    "modify_user_address",
];

/// The kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Equal to an expected action.
    Right,
    /// Accepted by the shop, but not expected.
    Wrong,
    /// Rejected by the shop when it was recorded.
    Rejected,
}

impl WriteKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Right, Self::Wrong, Self::Rejected];

    /// The kind in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Rejected => "rejected by the shop",
        }
    }
}

/// Parses the expected actions: a list of `name` and `arguments` per session.
pub(super) fn expected(text: &str) -> Result<HashMap<String, Vec<(String, Value)>>, String> {
    let all: HashMap<String, Vec<Json>> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let action = |it: Json| {
        let name = it["name"].as_str().unwrap_or_default().to_owned();
        let arguments = canonical_arguments(&Value::from(it["arguments"].clone()));
        (name, arguments)
    };
    let each =
        |(task, actions): (String, Vec<Json>)| (task, actions.into_iter().map(action).collect());
    Ok(all.into_iter().map(each).collect())
}

pub(super) fn kind(
    expected: Option<&Vec<(String, Value)>>,
    tool: &str,
    arguments: &Value,
) -> WriteKind {
    let given = canonical_arguments(arguments);
    let mut expected = expected.into_iter().flatten();
    match expected.any(|(name, wanted)| name == tool && *wanted == given) {
        true => WriteKind::Right,
        false => WriteKind::Wrong,
    }
}

/// Arguments in a canonical order: the same items in another order are the same call.
fn canonical_arguments(arguments: &Value) -> Value {
    let list = |key: &str| arguments.get(key).and_then(Value::as_array);
    let mut pairs: Vec<(String, String)> = Vec::new();
    let items = list("item_ids").unwrap_or_default();
    for (at, item) in items.iter().enumerate() {
        let new = list("new_item_ids").and_then(|new| new.get(at));
        pairs.push((item.to_json(), new.map(Value::to_json).unwrap_or_default()));
    }
    pairs.sort();
    let named = arguments.as_object().into_iter().flat_map(|map| map.iter());
    let mut told: Vec<(String, String)> = named
        .filter(|(key, _)| !["item_ids", "new_item_ids"].contains(&key.as_str()))
        .map(|(key, value)| (key.to_string(), value.to_json()))
        .collect();
    let more = list("new_item_ids").map_or(0, <[Value]>::len);
    told.push(("pairs".to_owned(), format!("{pairs:?} {more}")));
    told.sort();
    Value::object(
        told.into_iter()
            .map(|(key, value)| (key, Value::from(value))),
    )
}
