//! Values keep their order, share their contents and survive JSON.

use super::*;

#[test]
fn a_value_is_three_words() {
    assert_eq!(std::mem::size_of::<Value>(), 24);
}

#[test]
fn keys_keep_their_order_past_the_scan() {
    let map: Map = (0..100)
        .rev()
        .map(|n| (format!("k{n}"), Value::from(n)))
        .collect();
    assert_eq!(map.keys().next().map(Str::as_str), Some("k99"));
    assert_eq!(map.get("k42"), Some(&Value::from(42)));
    assert_eq!(map.get("k100"), None);
}

#[test]
fn removing_keeps_the_index_true() {
    let mut map: Map = (0..40).map(|n| (format!("k{n}"), Value::from(n))).collect();
    assert_eq!(map.remove("k3"), Some(Value::from(3)));
    assert_eq!(map.get("k39"), Some(&Value::from(39)));
    assert_eq!(map.get("k3"), None);
}

#[test]
fn json_round_trips_with_exact_whole_numbers() {
    let text =
        r#"{"b":1,"a":[9223372036854775807,18446744073709551615,-1,0.5,1e300,"x",null,true]}"#;
    let value = Value::from_json(text).unwrap();
    assert_eq!(Value::from_json(&value.to_json()).unwrap(), value);
    assert!(
        value
            .to_json()
            .starts_with(r#"{"b":1,"a":[9223372036854775807,18446744073709551615,-1,0.5,"#)
    );
}

#[test]
fn a_whole_double_prints_without_a_fraction() {
    assert_eq!(Value::from(3.0).to_json(), "3");
}

#[test]
fn deep_text_is_refused() {
    assert!(Value::from_json(&"[".repeat(100_000)).is_err());
}
