//! Workflows as an IR in JSON: nodes of named types, edges with actions, declared inputs and
//! outputs, and `${…}` wherever a value comes from elsewhere.
//!
//! What the document leaves out is filled in: edges in the order of the nodes, the first node as
//! the start. A node that leads nowhere ends the run.

use super::document::{self, At, Tree};
use super::sketch::{self, Sketch, Sources};
use super::yaml_graph::{Document, fields, limits, servers};
use super::{Flaws, Hint};
use crate::flaw::{Code, Flaw};
use crate::text::{nearest, shown};
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Edge, Limits, Node, Workflow};
use std::collections::HashSet;
use tramline_expr::{Str, Value};

mod batch;
mod declared;
mod editor;
mod nodes;
mod templates;
mod types;
mod write;

pub use editor::json_schema;
pub use write::write;

/// The fields of a document.
const KNOWN: [&str; 17] = [
    "$schema",
    "ir_version",
    "version",
    "name",
    "title",
    "description",
    "metadata",
    "nodes",
    "edges",
    "start_node",
    "inputs",
    "outputs",
    "mappings",
    "mcpServers",
    "servers",
    "executionLimits",
    "template_resolution_mode",
];

/// Reads an IR from a value, as a caller hands it over. Places are JSON pointers.
pub fn read_value(value: &Value, hint: Hint<'_>) -> Result<Document, Vec<Flaw>> {
    read_tree(&document::of_value(value)?, hint)
}

/// Reads an IR that was made out of text already.
pub(super) fn read_tree(tree: &Tree, hint: Hint<'_>) -> Result<Document, Vec<Flaw>> {
    let mut flaws = Flaws::default();
    let root = tree.root();
    fields::unknown(root, "the document", &KNOWN, &mut flaws);
    let Some(list) = node_list(root, &mut flaws) else {
        return Err(flaws.sorted());
    };
    let servers = servers::downstream(root, &mut flaws);
    let inputs = declared::inputs(root, &mut flaws);
    let workflow = Workflow {
        name: sketch::name(root, hint.name, &mut flaws),
        title: sketch::text(root, "title", &mut flaws),
        description: sketch::text(root, "description", &mut flaws),
        input_schema: Some(declared::input_schema(&inputs)),
        limits: limits::read(root, Limits::default(), &mut flaws),
        ..Workflow::default()
    };
    let known = types::known_servers(&servers, hint.elsewhere);
    let names = templates::Names::of(list, inputs);
    let mut sketch = Sketch::new(workflow, root);
    sketch.add(
        Node::new(names.entry.clone(), Action::Entry),
        Sources::at(root),
    );
    let before = flaws.count();
    for (number, at) in list.items().enumerate() {
        let (node, sources) = nodes::read(at, number, &names, &known, &mut flaws);
        sketch.add(node, sources);
    }
    start(root, list, &names, &mut sketch, &mut flaws);
    edges(root, list, &names, &mut sketch, &mut flaws);
    declared::end(root, &names, &mut sketch, &mut flaws);
    sketch.broken = flaws.fatal_since(before);
    sketch.finish(servers, hint.elsewhere, flaws)
}

fn node_list<'t>(root: At<'t>, flaws: &mut Flaws) -> Option<At<'t>> {
    let hint = "write a list of nodes, each with `id`, `type` and `params`";
    match fields::given(root, "nodes") {
        None => fields::missing(root, "the document", "nodes", hint, flaws),
        Some(list) if list.value.as_array().is_none() => {
            fields::wrong(list, "nodes", "a list", hint, flaws);
        }
        Some(list) if list.value.as_array().is_some_and(<[Value]>::is_empty) => {
            flaws.add(Code::Missing, list.place(), "there are no nodes", hint);
        }
        Some(list) => return Some(list),
    }
    None
}

/// The entry leads to the start node, which is the first unless the document says otherwise.
fn start<'t>(
    root: At<'t>,
    list: At<'t>,
    names: &templates::Names<'t>,
    sketch: &mut Sketch<'t>,
    flaws: &mut Flaws,
) {
    let named = fields::text(root, "start_node", flaws);
    if let Some((id, at)) = named
        && !names.is_node(id)
    {
        unknown_node(id, at, names, flaws);
        return;
    }
    let first = sketch.workflow.nodes.get(1).map(|node| node.id.clone());
    let to = named.map(|(id, _)| id.clone()).or(first);
    if let Some(to) = to {
        let at = named.map_or(list, |(_, at)| at);
        sketch.lead(Edge::new(names.entry.clone(), to), at);
    }
}

fn unknown_node(id: &str, at: At<'_>, names: &templates::Names<'_>, flaws: &mut Flaws) {
    let hint = match nearest(id, names.nodes()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a node of this document".to_owned(),
    };
    let message = format!("there is no node `{}`", shown(id));
    flaws.add(Code::UnknownNode, at.place(), message, hint);
}

/// The edges of the document, or one from each node to the next where it has none.
fn edges<'t>(
    root: At<'t>,
    list: At<'t>,
    names: &templates::Names<'t>,
    sketch: &mut Sketch<'t>,
    flaws: &mut Flaws,
) {
    let Some(edges) = fields::given(root, "edges") else {
        let ids: Vec<Str> = sketch
            .workflow
            .nodes
            .iter()
            .skip(1)
            .map(|node| node.id.clone())
            .collect();
        for pair in ids.windows(2) {
            sketch.lead(Edge::new(pair[0].clone(), pair[1].clone()), list);
        }
        return;
    };
    if edges.value.as_array().is_none() {
        let hint = "write a list of `from` and `to`";
        fields::wrong(edges, "edges", "a list", hint, flaws);
        return;
    }
    let choices: HashSet<Str> = sketch
        .workflow
        .nodes
        .iter()
        .filter(|node| matches!(node.action, Action::Choose { .. }))
        .map(|node| node.id.clone())
        .collect();
    for at in edges.items() {
        if at.value.as_object().is_none() {
            let hint = "write `from` and `to`";
            fields::wrong(at, "edges", "a list of objects", hint, flaws);
            continue;
        }
        fields::unknown(at, "an edge", &["from", "to", "action"], flaws);
        let end = |key: &str, flaws: &mut Flaws| {
            let (id, at) = fields::required(at, "an edge", key, "name a node", flaws)?;
            if !names.is_node(id) {
                unknown_node(id, at, names, flaws);
                return None;
            }
            Some((id.clone(), at))
        };
        let (from, to) = (end("from", flaws), end("to", flaws));
        let (Some((from, _)), Some((to, place))) = (from, to) else {
            continue;
        };
        let action = fields::text(at, "action", flaws);
        let label = action.map_or(DEFAULT_LABEL, |(action, _)| action.as_str());
        let never = ![DEFAULT_LABEL, ERROR_LABEL].contains(&label) && !choices.contains(&from);
        if let (true, Some((action, at))) = (never, action) {
            flaws.add(
                Code::Unreachable,
                at.place(),
                format!("`{}` never ends with `{}`", shown(&from), shown(action)),
                "tools end with `default` or `error`; only a `switch` picks other actions",
            );
        }
        sketch.lead(Edge::labelled(from, to, label), place);
    }
}
