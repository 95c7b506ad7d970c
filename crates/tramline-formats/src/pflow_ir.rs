//! pflow IR in JSON: typed nodes, edges with actions, declared inputs and outputs, and `${…}`
//! references.
//!
//! Omitted parts have defaults: edges follow the order of the nodes, and the first node is the start.
//! A node without a successor ends the run.

use super::workflow_builder::{self, NodeSources, ReferenceSyntax, WorkflowBuilder};
use super::yaml_graph::{GraphDocument, fields, limits, servers};
use super::{ReadOptions, detect};
use tramline_expr::Value;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::{self, SourceTree, Spanned};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::workflow::{Action, Node, Workflow, WorkflowLimits};

mod batch;
mod edges;
mod editor_schema;
mod io;
mod loops;
mod node_types;
mod nodes;
mod reference_scope;
mod retry;
mod subworkflow;
mod templates;
mod write;

pub use editor_schema::json_schema;
pub(crate) use reference_scope::template_source;
pub(crate) use write::ir_document as written;
pub use write::write;

/// The known fields of a document.
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

/// Reads an IR from a JSON value. Locations are JSON pointers.
pub fn read_value(value: &Value, hint: ReadOptions<'_>) -> Result<GraphDocument, Vec<Flaw>> {
    read_tree(&document::from_value(value)?, hint)
}

/// Reads an IR from a parsed document.
pub(super) fn read_tree(
    tree: &SourceTree,
    hint: ReadOptions<'_>,
) -> Result<GraphDocument, Vec<Flaw>> {
    let mut flaws = FlawCollector::new(hint.mistyped_fields);
    let outer = tree.root();
    // A saved workflow has its IR beside metadata, which has nothing to check.
    let root = detect::wrapped_ir(outer).unwrap_or(outer);
    let named = match root.value.get("name") {
        Some(_) => root,
        None => outer,
    };
    fields::warn_unknown(root, "the document", &KNOWN, &mut flaws);
    let Some(list) = node_list(root, &mut flaws) else {
        return Err(flaws.into_sorted());
    };
    let servers = servers::downstream_servers(root, &mut flaws);
    let inputs = io::read_inputs(root, &mut flaws);
    let workflow = Workflow {
        name: workflow_builder::workflow_name(named, hint.name, &mut flaws),
        title: workflow_builder::text_field(root, "title", &mut flaws),
        description: workflow_builder::text_field(root, "description", &mut flaws)
            .or_else(|| workflow_builder::text_field(outer, "description", &mut flaws)),
        input_schema: Some(io::input_schema(&inputs)),
        limits: limits::read(root, WorkflowLimits::default(), &mut flaws),
        ..Workflow::default()
    };
    let known = node_types::known_servers(&servers, hint.known_servers);
    let names = reference_scope::ReferenceScope::of(list, inputs);
    let mut sketch = WorkflowBuilder::new(workflow, root, ReferenceSyntax::Ir);
    sketch.add_node(
        Node::new(names.entry.clone(), Action::Entry),
        NodeSources::at(root),
    );
    let before = flaws.count();
    let mut loops = Vec::new();
    for (number, at) in list.items().enumerate() {
        let (node, sources, looped) = nodes::read(at, number, &names, &known, hint, &mut flaws);
        sketch.add_node(node, sources);
        loops.extend(looped);
    }
    edges::connect_entry(root, list, &names, &mut sketch, &mut flaws);
    let ends = edges::read(root, list, &names, &mut sketch, &mut flaws);
    io::connect_exit(root, &names, ends, &mut sketch, &mut flaws);
    loops::expand_loops(loops, list.items().len(), &names, &mut sketch);
    sketch.is_incomplete = flaws.has_errors_since(before);
    sketch.finish(servers, hint, flaws)
}

fn node_list<'t>(root: Spanned<'t>, flaws: &mut FlawCollector) -> Option<Spanned<'t>> {
    let hint = "write a list of nodes, each with `id`, `type` and `params`";
    match fields::present(root, "nodes") {
        None => fields::report_missing(root, "the document", "nodes", hint, flaws),
        Some(list) if list.value.as_array().is_none() => {
            fields::report_wrong_type(list, "nodes", "a list", hint, flaws);
        }
        Some(list) if list.value.as_array().is_some_and(<[Value]>::is_empty) => {
            flaws.add(
                FlawCode::MissingField,
                list.source_span(),
                "there are no nodes",
                hint,
            );
        }
        Some(list) => return Some(list),
    }
    None
}
