//! The JSON Schema that a model's plan must fit: the tools it was shown, each with its own arguments.
//!
//! Endpoints that keep to a schema as they speak can then neither make up a tool nor forget an
//! argument. Only the plainest words of JSON Schema are used, since each of them knows others; what
//! is said in more is checked when the plan is there.

use super::plan_request::STEPS_MAX;
use crate::seams::Tool;
use std::sync::Arc;
use tramline_core::{Map, Value};

/// Deeper schemas of arguments are left open.
const DEPTH_MAX: usize = 6;

/// The schema of a plan over these tools.
pub(super) fn of_plan(tools: &[Arc<Tool>]) -> Value {
    let steps = Value::array(tools.iter().map(|tool| {
        let name = Value::array([tool.name.to_string().into()]);
        let name = Value::object([("type", "string".into()), ("enum", name)]);
        let id = Value::object([("type", "string".into())]);
        let args = plain(&tool.input_schema, 0).filter(|args| is(args, "object"));
        let args = args.unwrap_or_else(|| Value::object([("type", "object".into())]));
        closed([("id", id), ("tool", name), ("args", args)])
    }));
    let mut list = Map::new();
    list.insert("type", "array".into());
    list.insert("maxItems", STEPS_MAX.into());
    list.insert("items", Value::object([("anyOf", steps)]));
    closed([("plan", list.into())])
}

/// An object with these fields and no others.
fn closed<const N: usize>(fields: [(&'static str, Value); N]) -> Value {
    let names = Value::array(fields.iter().map(|(name, _)| (*name).into()));
    let mut schema = Map::new();
    schema.insert("type", "object".into());
    schema.insert("properties", Value::object(fields));
    schema.insert("required", names);
    schema.insert("additionalProperties", false.into());
    schema.into()
}

fn is(schema: &Value, kind: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(kind)
}

/// A schema in plain words; nothing where it has none.
fn plain(schema: &Value, depth: usize) -> Option<Value> {
    let kind = schema.get("type").and_then(Value::as_str)?;
    if depth > DEPTH_MAX || schema.get("$ref").is_some() {
        return None;
    }
    let mut said = Map::new();
    said.insert("type", kind.into());
    match kind {
        "string" => {
            if let Some(words) = schema.get("enum") {
                said.insert("enum", words.clone());
            }
        }
        "array" => {
            let items = schema
                .get("items")
                .and_then(|items| or_reference(items, depth));
            if let Some(items) = items {
                said.insert("items", items);
            }
        }
        "object" => object(schema, depth, &mut said),
        _ => {}
    }
    Some(said.into())
}

fn object(schema: &Value, depth: usize, said: &mut Map) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let kinds = ["string", "number", "boolean", "object", "array"];
    let open = || {
        let kinds = kinds.map(|kind| Value::object([("type", kind.into())]));
        Value::object([("anyOf", Value::array(kinds))])
    };
    let fields = properties.iter().map(|(name, field)| {
        let field = or_reference(field, depth).unwrap_or_else(open);
        (name.clone(), field)
    });
    said.insert("properties", Value::object(fields));
    if let Some(required) = schema.get("required") {
        said.insert("required", required.clone());
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    // Where nobody says that more may come, what is told is all there is.
    let more = schema.get("additionalProperties").is_some() && !closed;
    said.insert("additionalProperties", more.into());
}

/// A schema in plain words, or a text in its place: what an earlier step gives is written as one.
fn or_reference(schema: &Value, depth: usize) -> Option<Value> {
    let said = plain(schema, depth + 1)?;
    if is(&said, "string") && said.get("enum").is_none() {
        return Some(said);
    }
    let text = Value::object([("type", "string".into())]);
    Some(Value::object([("anyOf", Value::array([said, text]))]))
}
