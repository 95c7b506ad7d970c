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
use crate::workflow::{Action, Limits, Node, Workflow};
use tramline_expr::Value;

mod batch;
mod called;
mod declared;
mod editor;
mod loops;
mod names;
mod nodes;
mod retry;
mod templates;
mod types;
mod ways;
mod write;

pub use editor::json_schema;
pub(in crate::formats) use write::document as written;
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
    let names = names::Names::of(list, inputs);
    let mut sketch = Sketch::new(workflow, root);
    sketch.add(
        Node::new(names.entry.clone(), Action::Entry),
        Sources::at(root),
    );
    let before = flaws.count();
    let mut loops = Vec::new();
    for (number, at) in list.items().enumerate() {
        let (node, sources, looped) = nodes::read(at, number, &names, &known, hint, &mut flaws);
        sketch.add(node, sources);
        loops.extend(looped);
    }
    ways::start(root, list, &names, &mut sketch, &mut flaws);
    let ends = ways::read(root, list, &names, &mut sketch, &mut flaws);
    declared::end(root, &names, ends, &mut sketch, &mut flaws);
    loops::weave(loops, list.items().len(), &names, &mut sketch);
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
