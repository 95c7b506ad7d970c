//! The tools of a document, each into a workflow and from there into a graph.

use super::calls::{self, CallSite};
use super::dialects::{self, Ends, Shared};
use super::nodes::{Draft, Kind};
use super::{fields, limits, places};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::graph::Graph;
use crate::schema::Checker;
use crate::text::shown;
use crate::workflow::{Limits, Workflow};
use std::collections::HashSet;
use std::sync::Arc;
use tramline_expr::{Str, Value};

/// The longest name a tool may have, in characters: what MCP allows.
const NAME_CHARS_MAX: usize = 128;

/// The fields of a tool; the last two are an older dialect's.
pub(super) const FIELDS: [&str; 9] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "nodes",
    "executionLimits",
    "entryNode",
    "exitNode",
];

/// What the tools of a document came to.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) workflows: Vec<Arc<Graph>>,
    pub(super) calls: Vec<CallSite>,
}

/// A tool as the file has it.
pub(super) struct Tool<'t> {
    pub(super) name: Str,
    /// Where its name stands, or it itself where it has none.
    pub(super) at: At<'t>,
    pub(super) nodes: Vec<Draft<'t>>,
}

/// Reads every tool.
pub(super) fn read(root: At<'_>, flaws: &mut Flaws) -> Tools {
    let mut tools = Tools::default();
    let hint = "add `tools:` with at least one tool";
    let list = match fields::given(root, "tools") {
        Some(list) if list.value.as_array().is_some_and(|list| !list.is_empty()) => list,
        Some(list) if list.value.as_array().is_none() => {
            let hint = "begin each tool with `- name:`";
            fields::wrong(list, "tools", "a list", hint, flaws);
            return tools;
        }
        Some(_) | None => {
            fields::missing(root, "the document", "tools", hint, flaws);
            return tools;
        }
    };
    let bounds = limits::read(root, Limits::default(), flaws);
    let shared = Shared::read(root, list, flaws);
    let mut names = HashSet::new();
    for at in list.items() {
        if at.value.as_object().is_none() {
            let hint = "begin each tool with `- name:`";
            fields::wrong(at, "tools", "a list of objects", hint, flaws);
            continue;
        }
        tool(at, bounds, &shared, &mut names, &mut tools, flaws);
    }
    shared.leftovers(flaws);
    tools
}

fn tool<'t>(
    at: At<'t>,
    bounds: Limits,
    shared: &Shared<'t>,
    names: &mut HashSet<&'t Str>,
    tools: &mut Tools,
    flaws: &mut Flaws,
) {
    let name = name(at, names, flaws);
    let owner = match name {
        Some((name, _)) => format!("tool `{}`", shown(name)),
        None => "a tool".to_owned(),
    };
    fields::unknown(at, &owner, &FIELDS, flaws);
    let hint = "say in a sentence what it does: agents choose by it";
    let description = fields::required(at, &owner, "description", hint, flaws);
    let title = fields::text(at, "title", flaws);
    let input = input_schema(at, &owner, flaws);
    let output = fields::given(at, "outputSchema").and_then(|at| schema(at, "outputSchema", flaws));
    let text = |found: Option<(&Str, At<'_>)>| found.map(|(text, _)| text.clone());
    let mut workflow = Workflow {
        name: text(name).unwrap_or_default(),
        title: text(title),
        description: text(description),
        input_schema: input.as_ref().map(|(schema, _)| schema.clone()),
        output_schema: output.as_ref().map(|(schema, _)| schema.clone()),
        limits: limits::read(at, bounds, flaws),
        ..Workflow::default()
    };
    let ends = Ends::read(at, flaws);
    let Some(mut nodes) = nodes(at, &workflow.name, &owner, &ends, shared, flaws) else {
        return;
    };
    let before = flaws.count();
    ends.supply(&mut nodes, flaws);
    let broken = flaws.fatal_since(before) || nodes.iter().any(|draft| draft.broken);
    let tool = Tool {
        name: workflow.name.clone(),
        at: name.map_or(at, |(_, at)| at),
        nodes,
    };
    tools.calls.extend(calls::of(&tool));
    workflow.nodes = tool.nodes.iter().map(|draft| draft.node.clone()).collect();
    workflow.edges = edges(&tool).map(|(edge, _)| edge.clone()).collect();
    if let Some(graph) = places::build(workflow, &tool, broken, flaws) {
        graph.keep_checkers(input.map(|(_, made)| made), output.map(|(_, made)| made));
        tools.workflows.push(Arc::new(graph));
    }
}

/// The edges of a tool in the order its workflow has them, with where each is written.
pub(super) fn edges<'d, 't>(
    tool: &'d Tool<'t>,
) -> impl Iterator<Item = &'d (crate::workflow::Edge, At<'t>)> {
    tool.nodes.iter().flat_map(|draft| &draft.edges)
}

fn name<'t>(
    at: At<'t>,
    names: &mut HashSet<&'t Str>,
    flaws: &mut Flaws,
) -> Option<(&'t Str, At<'t>)> {
    let (name, place) = fields::required(at, "a tool", "name", "name the tool", flaws)?;
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.chars().all(sound) || name.len() > NAME_CHARS_MAX {
        flaws.add(
            Code::WrongType,
            place.place(),
            format!("`{}` cannot be the name of a tool", shown(name)),
            format!("use 1 to {NAME_CHARS_MAX} of the characters A-Z a-z 0-9 _ - ."),
        );
    }
    if !names.insert(name) {
        flaws.add(
            Code::Duplicate,
            place.place(),
            format!("there are two tools named `{}`", shown(name)),
            "give one of them another name",
        );
    }
    Some((name, place))
}

/// The nodes of a tool: its own, or those of the document that belong to it.
fn nodes<'t>(
    at: At<'t>,
    name: &str,
    owner: &str,
    ends: &Ends<'t>,
    shared: &Shared<'t>,
    flaws: &mut Flaws,
) -> Option<Vec<Draft<'t>>> {
    match fields::given(at, "nodes") {
        Some(list) if list.value.as_array().is_some() => {
            let kind = |id: &str| ends.kind(id);
            Some(dialects::drafts(list, kind, flaws))
        }
        Some(list) => {
            fields::wrong(list, "nodes", "a list", "write each node as an item", flaws);
            None
        }
        None if shared.is_empty() => {
            let hint = "add `nodes:` with at least an entry and an exit";
            fields::missing(at, owner, "nodes", hint, flaws);
            None
        }
        None => Some(shared.of(name, ends)),
    }
}

/// The schema of the input, which MCP wants to be an object's.
fn input_schema(at: At<'_>, owner: &str, flaws: &mut Flaws) -> Option<(Value, Checker)> {
    let Some(field) = fields::given(at, "inputSchema") else {
        let hint = "write `inputSchema: {type: object}` if it takes no arguments";
        fields::missing(at, owner, "inputSchema", hint, flaws);
        return None;
    };
    let made = schema(field, "inputSchema", flaws)?;
    if let Some(kind) = field.get("type")
        && kind.value.as_str() != Some("object")
    {
        flaws.add(
            Code::BadSchema,
            kind.place(),
            format!("the arguments of {owner} must be an object"),
            "write `type: object` and describe each argument under `properties`",
        );
    }
    Some(made)
}

pub(in crate::formats) fn schema(
    at: At<'_>,
    name: &str,
    flaws: &mut Flaws,
) -> Option<(Value, Checker)> {
    if at.value.as_object().is_none() {
        fields::wrong(at, name, "an object", "write a JSON Schema", flaws);
        return None;
    }
    match Checker::new(at.value) {
        Ok(checker) => Some((at.value.clone(), checker)),
        Err(bad) => {
            flaws.add(
                Code::BadSchema,
                at.find(&bad.pointer).place(),
                format!("`{name}` is not a JSON Schema: {}", bad.message),
                "see json-schema.org for what a schema may say",
            );
            None
        }
    }
}

/// Whether one of the nodes is of a type.
pub(super) fn has(nodes: &[Draft<'_>], kind: Kind) -> bool {
    nodes.iter().any(|draft| draft.kind == Some(kind))
}
