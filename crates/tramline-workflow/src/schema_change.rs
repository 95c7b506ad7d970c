//! What a change of a JSON Schema breaks: the places where the new schema allows less, or more, than the old one.
//!
//! Arguments that fitted before must still fit, so an input may not allow less. Readers of results rely on what they
//! found before, so an output may not allow more. What cannot be compared counts as a break if it differs.

use std::collections::BTreeSet;
use tramline_expr::Value;

/// How deep schemas are compared; what lies below counts as unchanged.
const DEPTH_MAX: usize = 16;
/// Differences that are named for one schema.
const DIFFERENCES_MAX: usize = 20;

/// The types of JSON.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Why arguments that fitted the old schema may not fit the new one; empty if all of them do.
pub fn input_breaks(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Differences {
        words: Wording {
            missing: "is required now",
            gone: "is no longer allowed",
            kind: "no longer allows the type",
            values: "no longer allows the value",
            limit: "is limited more than before by",
        },
        all: Vec::new(),
    };
    found.compare(before, now, "", 0);
    found.all
}

/// Why results that fit the new schema may not be what readers of the old one expect; empty if they are.
pub fn output_breaks(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Differences {
        words: Wording {
            missing: "may be missing now",
            gone: "is new where nothing else was allowed",
            kind: "may have the new type",
            values: "may have the new value",
            limit: "is no longer limited by",
        },
        all: Vec::new(),
    };
    found.compare(now, before, "", 0);
    // A field that is no longer described is as good as gone.
    let fields = |schema: &Value| -> BTreeSet<String> {
        let fields = schema.get("properties").and_then(Value::as_object);
        fields
            .into_iter()
            .flat_map(|map| map.iter())
            .map(|(name, _)| name.to_string())
            .collect()
    };
    let lost: Vec<_> = fields(before).difference(&fields(now)).cloned().collect();
    for name in lost {
        let says = format!("`/{name}` is no longer described");
        if !found
            .all
            .iter()
            .any(|known| known.starts_with(&format!("`/{name}`")))
        {
            found.add(says);
        }
    }
    found.all
}

/// How a difference is told.
struct Wording {
    missing: &'static str,
    gone: &'static str,
    kind: &'static str,
    values: &'static str,
    limit: &'static str,
}

/// The places where `wide` allows what `narrow` does not.
struct Differences {
    words: Wording,
    all: Vec<String>,
}

impl Differences {
    fn add(&mut self, says: String) {
        if self.all.len() < DIFFERENCES_MAX {
            self.all.push(says);
        }
    }

    fn compare(&mut self, wide: &Value, narrow: &Value, at: &str, depth: usize) {
        if wide == narrow || depth > DEPTH_MAX || narrow.as_bool() == Some(true) {
            return;
        }
        let place = if at.is_empty() {
            "the value".to_owned()
        } else {
            format!("`{at}`")
        };
        if narrow.as_bool() == Some(false) {
            return self.add(format!("{place} {}", self.words.gone));
        }
        let (kinds, left) = (types(wide), types(narrow));
        for kind in kinds.iter().filter(|kind| !left.contains(*kind)) {
            // Every integer is a number.
            if !(*kind == "integer" && left.contains("number")) {
                self.add(format!("{place} {} {kind}", self.words.kind));
            }
        }
        self.compare_values(wide, narrow, &place);
        self.compare_limits(wide, narrow, &place);
        self.compare_fields(wide, narrow, at, depth);
        if let Some(items) = narrow.get("items") {
            let any = Value::from(true);
            self.compare(
                wide.get("items").unwrap_or(&any),
                items,
                &format!("{at}/*"),
                depth + 1,
            );
        }
        for key in [
            "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref",
        ] {
            if narrow.get(key).is_some() && narrow.get(key) != wide.get(key) {
                self.add(format!("{place} {} `{key}`", self.words.limit));
            }
        }
    }

    fn compare_values(&mut self, wide: &Value, narrow: &Value, place: &str) {
        let Some(left) = allowed_values(narrow) else {
            return;
        };
        match allowed_values(wide) {
            None => self.add(format!("{place} {} `enum`", self.words.limit)),
            Some(values) => {
                for value in values.iter().filter(|value| !left.contains(value)) {
                    self.add(format!("{place} {} {}", self.words.values, value.to_json()));
                }
            }
        }
    }

    fn compare_limits(&mut self, wide: &Value, narrow: &Value, place: &str) {
        let number = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_f64);
        for (key, is_least) in [
            ("minimum", true),
            ("exclusiveMinimum", true),
            ("minLength", true),
            ("minItems", true),
            ("minProperties", true),
            ("maximum", false),
            ("exclusiveMaximum", false),
            ("maxLength", false),
            ("maxItems", false),
            ("maxProperties", false),
        ] {
            let Some(limit) = number(narrow, key) else {
                continue;
            };
            let is_tighter = match (number(wide, key), is_least) {
                (None, _) => true,
                (Some(other), true) => limit > other,
                (Some(other), false) => limit < other,
            };
            if is_tighter {
                self.add(format!("{place} {} `{key}` {limit}", self.words.limit));
            }
        }
        for key in ["pattern", "format", "multipleOf", "uniqueItems"] {
            let other = wide.get(key);
            if let Some(rule) = narrow.get(key).filter(|rule| Some(*rule) != other) {
                self.add(format!(
                    "{place} {} `{key}` {}",
                    self.words.limit,
                    rule.to_json()
                ));
            }
        }
    }

    fn compare_fields(&mut self, wide: &Value, narrow: &Value, at: &str, depth: usize) {
        let required = |schema: &Value| -> BTreeSet<String> {
            let names = schema
                .get("required")
                .and_then(Value::as_array)
                .unwrap_or_default();
            names
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        for name in required(narrow).difference(&required(wide)) {
            self.add(format!("`{at}/{name}` {}", self.words.missing));
        }
        let closed = narrow.get("additionalProperties").and_then(Value::as_bool) == Some(false);
        let fields =
            |schema: &'_ Value| schema.get("properties").and_then(Value::as_object).cloned();
        let (wide_fields, narrow_fields) = (
            fields(wide).unwrap_or_default(),
            fields(narrow).unwrap_or_default(),
        );
        for (name, field) in wide_fields.iter() {
            let below = format!("{at}/{name}");
            match narrow_fields.get(name) {
                Some(other) => self.compare(field, other, &below, depth + 1),
                None if closed => self.add(format!("`{below}` {}", self.words.gone)),
                None => {}
            }
        }
        if closed && wide.get("additionalProperties").and_then(Value::as_bool) != Some(false) {
            let place = if at.is_empty() { "/" } else { at };
            self.add(format!(
                "`{place}` {} `additionalProperties`",
                self.words.limit
            ));
        }
    }
}

/// The types that a schema allows.
fn types(schema: &Value) -> BTreeSet<&str> {
    let all = || {
        TYPES
            .into_iter()
            .filter(|kind| *kind != "integer")
            .collect()
    };
    match schema.get("type") {
        Some(Value::String(kind)) => BTreeSet::from([kind.as_str()]),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => all(),
    }
}

/// The values that a schema lists.
fn allowed_values(schema: &Value) -> Option<Vec<Value>> {
    if let Some(only) = schema.get("const") {
        return Some(vec![only.clone()]);
    }
    schema
        .get("enum")
        .and_then(Value::as_array)
        .map(|values| values.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    const BASE: &str = r#"{"type": "object", "properties": {"n": {"type": "number"}, "kind": {"enum": ["a", "b"]}}, "required": ["n"]}"#;

    #[test]
    fn an_input_may_allow_more_but_not_less() {
        let base = schema(BASE);
        for fine in [
            BASE,
            r#"{"type": "object", "properties": {"n": {"type": ["number", "string"], "description": "d"}, "kind": {"enum": ["a", "b", "c"]}, "new": {}}}"#,
            r#"{"type": "object"}"#,
            "true",
        ] {
            assert_eq!(
                input_breaks(&base, &schema(fine)),
                Vec::<String>::new(),
                "{fine}"
            );
        }
        for (broken, says) in [
            (
                r#"{"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}"#,
                "`/n` no longer allows the type number",
            ),
            (
                r#"{"type": "object", "properties": {"n": {"type": "number"}, "kind": {"enum": ["a"]}}}"#,
                "`/kind` no longer allows the value \"b\"",
            ),
            (
                r#"{"type": "object", "required": ["n", "path"]}"#,
                "`/path` is required now",
            ),
            (
                r#"{"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": false}"#,
                "`/kind` is no longer allowed",
            ),
            (
                r#"{"type": "object", "properties": {"n": {"type": "number", "maximum": 5}}}"#,
                "`/n` is limited more than before by `maximum` 5",
            ),
            ("false", "the value is no longer allowed"),
        ] {
            let found = input_breaks(&base, &schema(broken));
            assert!(
                found.iter().any(|found| found == says),
                "{broken}: {found:?}"
            );
        }
    }

    #[test]
    fn an_output_may_allow_less_but_not_more() {
        let base = schema(BASE);
        let fine = r#"{"type": "object", "properties": {"n": {"type": "integer"}, "kind": {"const": "a"}, "new": {}}, "required": ["n", "kind"]}"#;
        assert_eq!(output_breaks(&base, &schema(fine)), Vec::<String>::new());
        for (broken, says) in [
            (
                r#"{"type": "object", "properties": {"n": {"type": "number"}, "kind": {"enum": ["a", "b"]}}}"#,
                "`/n` may be missing now",
            ),
            (
                r#"{"type": "object", "properties": {"n": {"type": ["number", "null"]}, "kind": {"enum": ["a", "b"]}}, "required": ["n"]}"#,
                "`/n` may have the new type null",
            ),
            (
                r#"{"type": "object", "properties": {"n": {"type": "number"}, "kind": {"enum": ["a", "b", "c"]}}, "required": ["n"]}"#,
                "`/kind` may have the new value \"c\"",
            ),
            (
                r#"{"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}"#,
                "`/kind` is no longer described",
            ),
        ] {
            let found = output_breaks(&base, &schema(broken));
            assert!(
                found.iter().any(|found| found == says),
                "{broken}: {found:?}"
            );
        }
    }

    #[test]
    fn a_deep_schema_ends() {
        let mut deep = String::from("{\"type\": \"string\"}");
        let mut other = String::from("{\"type\": \"number\"}");
        for _ in 0..100 {
            deep = format!("{{\"items\": {deep}}}");
            other = format!("{{\"items\": {other}}}");
        }
        assert!(input_breaks(&schema(&deep), &schema(&other)).is_empty());
    }
}
