//! Checks that implementations agree: only equal work is compared.

use anyhow::{Result, ensure};
use serde_json::Value;

/// How far two sums of the same numbers may differ, as a share of the sum: some implementations add
/// in another order.
const SHARE_MAX: f64 = 1e-12;

/// Fails with the name of the implementation whose value differs from ours.
pub(crate) fn check(source: &str, whose: &str, ours: &Value, theirs: &Value) -> Result<()> {
    ensure!(
        alike(ours, theirs),
        "{source}: {whose} returns {:.200}, ours returns {:.200}",
        theirs.to_string(),
        ours.to_string()
    );
    Ok(())
}

fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= SHARE_MAX * a.abs().max(b.abs()),
            _ => false,
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let held = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| alike(a, b));
            a.len() == b.len() && a.iter().all(held)
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::alike;
    use serde_json::json;

    #[test]
    fn only_the_last_digits_of_numbers_may_differ() {
        assert!(alike(
            &json!({"a": [1, 0.1 + 0.2]}),
            &json!({"a": [1.0, 0.3]})
        ));
        for (a, b) in [
            (json!(1), json!(1.001)),
            (json!([1]), json!([1, 2])),
            (json!({"a": 1}), json!({"b": 1})),
            (json!("1"), json!(1)),
        ] {
            assert!(!alike(&a, &b), "{a} {b}");
        }
    }
}
