//! The JSON Schema of a model's plan: the tools it was shown, each with its own arguments.
//!
//! An endpoint that enforces a schema during generation can then neither invent a tool nor omit an argument. Only the
//! basic keywords of JSON Schema are used, since endpoints support different subsets; everything else is checked when
//! the plan arrives.

use super::plan_request::STEPS_MAX;
use std::sync::Arc;
use tramline_engine::ports::Tool;
use tramline_expr::{Map, Value};

/// Deepest nesting of argument schemas, in levels. Deeper ones are left open.
const DEPTH_MAX: usize = 6;

/// The schema of a plan with these tools.
pub(super) fn plan_schema(tools: &[Arc<Tool>]) -> Value {
    let steps = Value::array(tools.iter().map(|tool| {
        let name = Value::array([tool.name.to_string().into()]);
        let name = Value::object([("type", "string".into()), ("enum", name)]);
        let id = Value::object([("type", "string".into())]);
        let args = simplify(&tool.input_schema, 0).filter(|args| has_type(args, "object"));
        let args = args.unwrap_or_else(|| Value::object([("type", "object".into())]));
        closed_object([("id", id), ("tool", name), ("args", args)])
    }));
    let mut list = Map::new();
    list.insert("type", "array".into());
    list.insert("maxItems", STEPS_MAX.into());
    list.insert("items", Value::object([("anyOf", steps)]));
    closed_object([("plan", list.into())])
}

/// An object with exactly these fields.
fn closed_object<const N: usize>(fields: [(&'static str, Value); N]) -> Value {
    let names = Value::array(fields.iter().map(|(name, _)| (*name).into()));
    let mut schema = Map::new();
    schema.insert("type", "object".into());
    schema.insert("properties", Value::object(fields));
    schema.insert("required", names);
    schema.insert("additionalProperties", false.into());
    schema.into()
}

fn has_type(schema: &Value, kind: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(kind)
}

/// A schema reduced to basic keywords; `None` if that is not possible.
fn simplify(schema: &Value, depth: usize) -> Option<Value> {
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
                .and_then(|items| simplify_or_reference(items, depth));
            if let Some(items) = items {
                said.insert("items", items);
            }
        }
        "object" => simplify_object(schema, depth, &mut said),
        _ => {}
    }
    Some(said.into())
}

fn simplify_object(schema: &Value, depth: usize, said: &mut Map) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let kinds = ["string", "number", "boolean", "object", "array"];
    let open = || {
        let kinds = kinds.map(|kind| Value::object([("type", kind.into())]));
        Value::object([("anyOf", Value::array(kinds))])
    };
    let fields = properties.iter().map(|(name, field)| {
        let field = simplify_or_reference(field, depth).unwrap_or_else(open);
        (name.clone(), field)
    });
    said.insert("properties", Value::object(fields));
    if let Some(required) = schema.get("required") {
        said.insert("required", required.clone());
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    // If the schema does not mention additional properties, none are allowed.
    let more = schema.get("additionalProperties").is_some() && !closed;
    said.insert("additionalProperties", more.into());
}

/// A reduced schema, or a string in its place: references to earlier steps are strings.
fn simplify_or_reference(schema: &Value, depth: usize) -> Option<Value> {
    let said = simplify(schema, depth + 1)?;
    if has_type(&said, "string") && said.get("enum").is_none() {
        return Some(said);
    }
    let text = Value::object([("type", "string".into())]);
    Some(Value::object([("anyOf", Value::array([said, text]))]))
}
