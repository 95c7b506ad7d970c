//! Typos in JSON Schemas. A keyword that JSON Schema does not know has no effect, so a misspelled one is silently lost.

use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest, resembles};

/// Levels of a schema that are examined.
const DEPTH_MAX: usize = 16;

/// The keywords that schemas of tools use.
const KEYWORDS: [&str; 38] = [
    "$schema",
    "$id",
    "$ref",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
];

/// Types of other languages in lower case, each with the type of JSON Schema.
const OTHER_TYPES: [(&[&str], &str); 6] = [
    (
        &[
            "str", "text", "char", "date", "datetime", "uuid", "path", "file",
        ],
        "string",
    ),
    (&["int", "long", "int32", "int64", "whole"], "integer"),
    (&["float", "double", "decimal", "num", "real"], "number"),
    (&["bool", "flag"], "boolean"),
    (&["list", "tuple", "set", "vector", "arr"], "array"),
    (
        &["dict", "map", "struct", "record", "json", "hash", "obj"],
        "object",
    ),
];

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// The type that a word probably means.
pub(crate) fn json_type_for(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let other = OTHER_TYPES
        .iter()
        .find(|(words, _)| words.contains(&lower.as_str()));
    let other = other.map(|(_, ours)| *ours);
    other.or_else(|| nearest(&lower, TYPES.iter().copied()))
}

/// Reports keywords and required names that are probably typos.
pub(super) fn check(at: Spanned<'_>, name: &str, flaws: &mut FlawCollector) {
    check_at(at, name, 0, flaws);
}

fn check_at(at: Spanned<'_>, name: &str, depth: usize, flaws: &mut FlawCollector) {
    let Some(map) = at.value.as_object().filter(|_| depth <= DEPTH_MAX) else {
        return;
    };
    for (slot, (key, part)) in at.fields().enumerate() {
        match key.as_str() {
            "properties" | "patternProperties" | "$defs" | "definitions" => {
                for (_, property) in part.fields() {
                    check_at(property, name, depth + 1, flaws);
                }
            }
            "items" | "additionalProperties" | "contains" | "not" => {
                check_at(part, name, depth + 1, flaws);
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                for choice in part.items() {
                    check_at(choice, name, depth + 1, flaws);
                }
            }
            "required" => check_required(at, part, name, flaws),
            known if KEYWORDS.contains(&known) => {}
            other => {
                let near = nearest(other, KEYWORDS.iter().copied());
                let near = near.filter(|near| resembles(other, near) && !map.contains_key(near));
                if let Some(near) = near {
                    flaws.add(
                        FlawCode::UnknownField,
                        at.key_source_span(slot),
                        format!("JSON Schema has no keyword `{}`", display_name(other)),
                        format!("did you mean `{near}`?"),
                    );
                }
            }
        }
    }
}

/// Reports required names that resemble a property and are none.
fn check_required(at: Spanned<'_>, required: Spanned<'_>, name: &str, flaws: &mut FlawCollector) {
    let Some(properties) = at.value.get("properties").and_then(Value::as_object) else {
        return;
    };
    let listed = required.value.as_array().unwrap_or_default();
    let is_free = |property: &&str| !listed.iter().any(|one| one.as_str() == Some(property));
    for item in required.items() {
        let Some(given) = item
            .value
            .as_str()
            .filter(|given| !properties.contains_key(given))
        else {
            continue;
        };
        let near = nearest(given, properties.keys().map(Str::as_str).filter(is_free));
        if let Some(near) = near.filter(|near| resembles(given, near)) {
            flaws.add(
                FlawCode::UnknownField,
                item.source_span(),
                format!(
                    "`{name}` requires `{}`, which it does not describe",
                    display_name(given)
                ),
                format!("did you mean `{near}`?"),
            );
        }
    }
}
