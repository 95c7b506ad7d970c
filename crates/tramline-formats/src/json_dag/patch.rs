//! Reads tasks that are added to a running DAG.

use super::tasks::{TaskDraft, TaskIds};
use super::{cycles, task_list};
use crate::ReadOptions;
use crate::workflow_builder::{NodeSources, ReferenceSyntax, WorkflowBuilder};
use crate::yaml_graph::GraphDocument;
use tramline_expr::{Str, Value};
use tramline_syntax::{FlawCollector, document};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::graph::{Graph, Patch};
use tramline_workflow::workflow::{Action, Workflow};

/// Tasks to add, and the document including them.
#[derive(Debug)]
pub struct DagExtension {
    /// The added nodes and edges.
    pub patch: Patch,
    /// The whole document; its call sites are those of the new tasks.
    pub document: GraphDocument,
}

/// Reads tasks to add to a graph of tasks. They may depend on and refer to existing tasks. Locations are
/// JSON pointers.
pub fn read_patch(
    tasks: &Value,
    graph: &Graph,
    hint: ReadOptions<'_>,
) -> Result<DagExtension, Vec<Flaw>> {
    let tree = document::from_value(tasks)?;
    let mut flaws = FlawCollector::new(hint.mistyped_fields);
    let root = tree.root();
    let Some(list) = task_list(root, root, &mut flaws) else {
        return Err(flaws.into_sorted());
    };
    let ids = TaskIds::with_graph(list, graph);
    let read: Vec<_> = list
        .items()
        .enumerate()
        .map(|(number, at)| TaskDraft::read(at, number, &ids, &mut flaws))
        .collect();
    let is_entry = |action: &Action| matches!(action, Action::Entry);
    let mut nodes = graph.workflow.nodes.iter();
    let entry = nodes.find(|node| is_entry(&node.action));
    let entry: Option<&Str> = entry.map(|node| &node.id);
    if entry.is_none() && read.iter().any(|task| !task.parameters.is_empty()) {
        let message = "the run was started without parameters";
        let hint = "write literal values instead";
        flaws.add(FlawCode::MissingField, list.source_span(), message, hint);
    }
    let old = Workflow::clone(&graph.workflow);
    let (node_count, edge_count) = (old.nodes.len(), old.edges.len());
    let mut sketch = WorkflowBuilder::new(old, root, ReferenceSyntax::Dag);
    sketch.sources = vec![NodeSources::at(root); node_count];
    sketch.edge_sources = vec![root; edge_count];
    sketch.is_incomplete = read.iter().any(|task| task.is_incomplete);
    for task in read {
        task.add_to(&mut sketch, entry);
    }
    cycles::check(&mut sketch, &mut flaws);
    let patch = Patch {
        nodes: sketch.workflow.nodes[node_count..].to_vec(),
        edges: sketch.workflow.edges[edge_count..].to_vec(),
    };
    let servers = Value::object::<Str>([]);
    let document = sketch.finish(servers, hint, flaws)?;
    Ok(DagExtension { patch, document })
}
