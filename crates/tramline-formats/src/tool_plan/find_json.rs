//! Finds JSON in a planner's response.

use tramline_expr::Value;

/// Most positions tried: prose may contain many brackets.
const TRIES_MAX: usize = 200;

/// The first array or object that looks like a plan; else the first array; else the first object.
pub(super) fn find_json(text: &str) -> Option<Value> {
    let starts = text.char_indices().filter(|(_, c)| matches!(c, '[' | '{'));
    let (mut array, mut object) = (None, None);
    let mut after = 0;
    for (at, _) in starts.take(TRIES_MAX) {
        // Skip brackets inside a value that was already parsed.
        if at < after {
            continue;
        }
        let values = serde_json::Deserializer::from_str(&text[at..]);
        let mut values = values.into_iter::<serde_json::Value>();
        let Some(Ok(value)) = values.next() else {
            continue;
        };
        after = at + values.byte_offset();
        let value = Value::from(value);
        if is_plan(&value) {
            return Some(value);
        }
        let kept = match value.as_array() {
            Some(_) => &mut array,
            None => &mut object,
        };
        kept.get_or_insert(value);
    }
    array.or(object)
}

/// Whether a value contains steps with tools.
fn is_plan(value: &Value) -> bool {
    let list = ["plan", "steps", "actions"]
        .iter()
        .find_map(|key| value.get(key));
    let list = list.unwrap_or(value).as_array();
    let is_step = |item: &Value| item.get("tool").is_some() || item.get("name").is_some();
    list.is_some_and(|items| !items.is_empty() && items.iter().all(is_step))
}
