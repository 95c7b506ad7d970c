//! Declared inputs and outputs: what a run is given and what it gives back.

use super::names::Names;
use super::templates::Reader;
use super::ways::End;
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::reference;
use crate::formats::sketch::{Sketch, Sources};
use crate::formats::yaml_graph::fields;
use crate::text::shown;
use crate::workflow::{Action, DEFAULT_LABEL, Edge, Node, Template};
use std::collections::HashSet;
use tramline_expr::{Str, Value};

/// A declared input.
pub(super) struct Input {
    pub(super) name: Str,
    pub(super) default: Option<Value>,
    required: bool,
    schema: Value,
}

/// Reads `inputs`.
pub(super) fn inputs(root: At<'_>, flaws: &mut Flaws) -> Vec<Input> {
    let Some(at) = fields::given(root, "inputs") else {
        return Vec::new();
    };
    if at.value.as_object().is_none() {
        let hint = "write each input under its name";
        fields::wrong(at, "inputs", "an object", hint, flaws);
        return Vec::new();
    }
    at.fields()
        .map(|(name, at)| input(name, at, flaws))
        .collect()
}

fn input(name: &Str, at: At<'_>, flaws: &mut Flaws) -> Input {
    let mut schema = Vec::new();
    if let Some((kind, _)) = fields::text(at, "type", flaws)
        && let Some(kind) = json_type(kind)
    {
        schema.push(("type", Value::from(kind)));
    }
    if let Some((description, _)) = fields::text(at, "description", flaws) {
        schema.push(("description", description.clone().into()));
    }
    let default = at.get("default").map(|at| at.value.clone());
    if let Some(default) = &default {
        schema.push(("default", default.clone()));
    }
    let required = fields::truth(at, "required", flaws).unwrap_or(true) && default.is_none();
    Input {
        name: name.clone(),
        default,
        required,
        schema: Value::object(schema),
    }
}

/// The type of JSON that a declared type is.
fn json_type(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" | "str" | "text" => "string",
        "number" | "float" => "number",
        "integer" | "int" => "integer",
        "boolean" | "bool" => "boolean",
        "object" | "dict" => "object",
        "array" | "list" => "array",
        _ => return None,
    })
}

/// The schema of the input of a run.
pub(super) fn input_schema(inputs: &[Input]) -> Value {
    let mut schema = vec![("type", Value::from("object"))];
    if !inputs.is_empty() {
        let properties = inputs
            .iter()
            .map(|input| (input.name.clone(), input.schema.clone()));
        schema.push(("properties", Value::object(properties)));
        let required = inputs.iter().filter(|input| input.required);
        let required: Vec<_> = required
            .map(|input| Value::from(input.name.clone()))
            .collect();
        if !required.is_empty() {
            schema.push(("required", Value::from(required)));
        }
    }
    Value::object(schema)
}

/// Every node that leads nowhere leads to the end: by way of the outputs, where there are any.
pub(super) fn end<'t>(
    root: At<'t>,
    names: &Names<'t>,
    ends: Vec<End<'t>>,
    sketch: &mut Sketch<'t>,
    flaws: &mut Flaws,
) {
    let outputs = fields::given(root, "outputs").and_then(|at| outputs(at, names, flaws));
    let leads: HashSet<&str> = sketch
        .workflow
        .edges
        .iter()
        .filter(|edge| edge.label == DEFAULT_LABEL)
        .map(|edge| edge.from.as_str())
        .collect();
    let last: Vec<(Str, At<'t>)> = sketch
        .workflow
        .nodes
        .iter()
        .zip(&sketch.sources)
        .filter(|(node, _)| match &node.action {
            Action::Entry | Action::Exit | Action::Choose { .. } => false,
            Action::Call { .. } | Action::Compute { .. } | Action::Wait(_) => {
                !leads.contains(node.id.as_str())
            }
        })
        .map(|(node, sources)| (node.id.clone(), sources.id))
        .collect();
    let mut nodes = sketch.workflow.nodes.iter();
    if last.is_empty() && ends.is_empty() && nodes.any(|node| node.action == Action::Exit) {
        return;
    }
    let target = match &outputs {
        Some(_) => &names.outputs,
        None => &names.exit,
    };
    for (id, at) in last {
        sketch.lead(Edge::new(id, target.clone()), at);
    }
    for End { from, label, at } in ends {
        sketch.lead(Edge::labelled(from, target.clone(), label), at);
    }
    if let Some((expression, at)) = outputs {
        let action = Action::Compute { expression };
        sketch.add(Node::new(names.outputs.clone(), action), Sources::at(at));
        sketch.lead(Edge::new(names.outputs.clone(), names.exit.clone()), at);
    }
    sketch.add(
        Node::new(names.exit.clone(), Action::Exit),
        Sources::at(root),
    );
}

/// The expression that gathers the outputs.
fn outputs<'t>(at: At<'t>, names: &Names<'t>, flaws: &mut Flaws) -> Option<(Str, At<'t>)> {
    if at.value.as_object().is_none() {
        let hint = "write each output under its name, with its `source`";
        fields::wrong(at, "outputs", "an object", hint, flaws);
        return None;
    }
    let mut parts = Vec::new();
    for (name, output) in at.fields() {
        let source = match output.value {
            Value::String(_) => Some(output),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => fields::given(output, "source"),
        };
        let Some(source) = source else {
            flaws.add(
                Code::Missing,
                output.place(),
                format!("the output `{}` has no `source`", shown(name)),
                "say where it comes from: \"source\": \"${node.key}\"",
            );
            continue;
        };
        let value = match Reader::new(names, flaws).template(source) {
            Template::Expr(source) => source.to_string(),
            Template::Literal(value) => value.to_json(),
            Template::Object(_) | Template::Array(_) => continue,
        };
        parts.push(format!("{}: {value}", reference::text(name)));
    }
    (!parts.is_empty()).then(|| {
        let expression = format!("{{\n  {}\n}}", parts.join(",\n  "));
        (expression.into(), at)
    })
}
