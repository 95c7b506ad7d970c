//! Declared inputs and outputs of a workflow.

use super::edges::ExitEdge;
use super::reference_scope::ReferenceScope;
use super::templates::TemplateReader;
use crate::reference;
use crate::workflow_builder::{NodeSources, WorkflowBuilder};
use crate::yaml_graph::fields;
use crate::yaml_graph::schema_words::json_type_for;
use std::collections::HashSet;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::display_name;
use tramline_workflow::workflow::{Action, DEFAULT_LABEL, Edge, Node, Template};

/// A declared input.
pub(super) struct DeclaredInput {
    pub(super) name: Str,
    pub(super) default: Option<Value>,
    required: bool,
    schema: Value,
}

/// Reads `inputs`.
pub(super) fn read_inputs(root: Spanned<'_>, flaws: &mut FlawCollector) -> Vec<DeclaredInput> {
    let Some(at) = fields::present(root, "inputs") else {
        return Vec::new();
    };
    if at.value.as_object().is_none() {
        let hint = "write each input under its name";
        fields::report_wrong_type(at, "inputs", "an object", hint, flaws);
        return Vec::new();
    }
    at.fields()
        .map(|(name, at)| read_input(name, at, flaws))
        .collect()
}

fn read_input(name: &Str, at: Spanned<'_>, flaws: &mut FlawCollector) -> DeclaredInput {
    let mut schema = Vec::new();
    if let Some((kind, place)) = fields::optional_string(at, "type", flaws) {
        match json_type(kind) {
            Some(kind) => schema.push(("type", Value::from(kind))),
            None => warn_unknown_type(name, kind, place, flaws),
        }
    }
    if let Some((description, _)) = fields::optional_string(at, "description", flaws) {
        schema.push(("description", description.clone().into()));
    }
    let default = at.get("default").map(|at| at.value.clone());
    if let Some(default) = &default {
        schema.push(("default", default.clone()));
    }
    let required = fields::boolean(at, "required", flaws).unwrap_or(true) && default.is_none();
    DeclaredInput {
        name: name.clone(),
        default,
        required,
        schema: Value::object(schema),
    }
}

/// The JSON type for a declared type.
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

/// The input schema of a run.
pub(super) fn input_schema(inputs: &[DeclaredInput]) -> Value {
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

/// Connects every node without a successor to the exit, through the outputs node if there are outputs.
pub(super) fn connect_exit<'t>(
    root: Spanned<'t>,
    names: &ReferenceScope<'t>,
    ends: Vec<ExitEdge<'t>>,
    sketch: &mut WorkflowBuilder<'t>,
    flaws: &mut FlawCollector,
) {
    let outputs =
        fields::present(root, "outputs").and_then(|at| outputs_expression(at, names, flaws));
    let leads: HashSet<&str> = sketch
        .workflow
        .edges
        .iter()
        .filter(|edge| edge.label == DEFAULT_LABEL)
        .map(|edge| edge.from.as_str())
        .collect();
    let last: Vec<(Str, Spanned<'t>)> = sketch
        .workflow
        .nodes
        .iter()
        .zip(&sketch.sources)
        .filter(|(node, _)| {
            let continues = !node.action.kind().is_end && node.action.choice().is_none();
            continues && !leads.contains(node.id.as_str())
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
        sketch.add_edge(Edge::new(id, target.clone()), at);
    }
    for ExitEdge { from, label, at } in ends {
        sketch.add_edge(Edge::labelled(from, target.clone(), label), at);
    }
    if let Some((expression, at)) = outputs {
        let action = Action::Compute { expression };
        sketch.add_node(
            Node::new(names.outputs.clone(), action),
            NodeSources::at(at),
        );
        sketch.add_edge(Edge::new(names.outputs.clone(), names.exit.clone()), at);
    }
    sketch.add_node(
        Node::new(names.exit.clone(), Action::Exit),
        NodeSources::at(root),
    );
}

/// The expression that collects the outputs.
fn outputs_expression<'t>(
    at: Spanned<'t>,
    names: &ReferenceScope<'t>,
    flaws: &mut FlawCollector,
) -> Option<(Str, Spanned<'t>)> {
    if at.value.as_object().is_none() {
        let hint = "write each output under its name, with its `source`";
        fields::report_wrong_type(at, "outputs", "an object", hint, flaws);
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
            | Value::Object(_) => fields::present(output, "source"),
        };
        let Some(source) = source else {
            const OTHERS: [&str; 6] = ["value", "from", "expr", "expression", "path", "ref"];
            let other = fields::first_present(output, &OTHERS).map(|(_, at)| at);
            let place = other.and_then(|other| other.own_key_span());
            let hint = match place {
                Some(_) => "did you mean `source`?",
                None => "add its source: \"source\": \"${node.key}\"",
            };
            flaws.add(
                FlawCode::MissingField,
                place.unwrap_or_else(|| output.source_span()),
                format!("the output `{}` has no `source`", display_name(name)),
                hint,
            );
            continue;
        };
        warn_plain_source(source, names, flaws);
        let value = match TemplateReader::new(names, flaws).template(source) {
            Template::Expr(source) => source.to_string(),
            Template::Literal(value) => value.to_json(),
            Template::Object(_) | Template::Array(_) => continue,
        };
        parts.push(format!("{}: {value}", reference::jsonata_string(name)));
    }
    (!parts.is_empty()).then(|| {
        let expression = format!("{{\n  {}\n}}", parts.join(",\n  "));
        (expression.into(), at)
    })
}

/// Warns about a source that names a node or an input without `${…}`.
fn warn_plain_source(at: Spanned<'_>, names: &ReferenceScope<'_>, flaws: &mut FlawCollector) {
    let text = at.value.as_str().unwrap_or_default().trim();
    let path = text
        .trim_start_matches(['{', '$'])
        .trim_end_matches('}')
        .trim();
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let root = &path[..end];
    let is_known = names.is_node(root) || names.inputs.iter().any(|input| input.name == root);
    if !text.contains("${") && path.chars().all(is_path) && is_known {
        flaws.add(
            FlawCode::LooksLikeReference,
            at.source_span(),
            format!(
                "`{}` is plain text, but looks like a reference",
                display_name(text)
            ),
            format!("write `\"${{{path}}}\"`"),
        );
    }
}

/// Warns about a type that is probably a typo; other types are only for people to read.
fn warn_unknown_type(name: &str, kind: &str, at: Spanned<'_>, flaws: &mut FlawCollector) {
    if let Some(near) = json_type_for(kind) {
        flaws.add(
            FlawCode::UnknownField,
            at.source_span(),
            format!(
                "the input `{}` has the unknown type `{}`",
                display_name(name),
                display_name(kind)
            ),
            format!("did you mean `{near}`?"),
        );
    }
}
