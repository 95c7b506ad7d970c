//! Tasks that are added to a run: read like any others, beside those that are there.

use super::tasks::{Ids, Task};
use super::{cycles, task_list};
use crate::flaw::{Code, Flaw};
use crate::formats::sketch::{Sketch, Sources};
use crate::formats::yaml_graph::Document;
use crate::formats::{Flaws, Hint, document};
use crate::graph::{Graph, Patch};
use crate::workflow::{Action, Workflow};
use tramline_expr::{Str, Value};

/// Tasks to be added, and the document as it is with them.
#[derive(Debug)]
pub struct Growth {
    /// What is added.
    pub patch: Patch,
    /// The whole, whose calls are those of the new tasks.
    pub document: Document,
}

/// Reads tasks that are to be added to a graph of tasks. They may depend on and refer to those that
/// are there. Places are JSON pointers.
pub fn read_patch(tasks: &Value, graph: &Graph, hint: Hint<'_>) -> Result<Growth, Vec<Flaw>> {
    let tree = document::of_value(tasks)?;
    let mut flaws = Flaws::default();
    let root = tree.root();
    let Some(list) = task_list(root, root, &mut flaws) else {
        return Err(flaws.sorted());
    };
    let ids = Ids::beside(list, graph);
    let read: Vec<_> = list
        .items()
        .enumerate()
        .map(|(number, at)| Task::read(at, number, &ids, &mut flaws))
        .collect();
    let is_entry = |action: &Action| matches!(action, Action::Entry);
    let mut nodes = graph.workflow.nodes.iter();
    let entry = nodes.find(|node| is_entry(&node.action));
    let entry: Option<&Str> = entry.map(|node| &node.id);
    if entry.is_none() && read.iter().any(|task| !task.parameters.is_empty()) {
        let message = "the run was started without parameters";
        let hint = "write the values as they are";
        flaws.add(Code::Missing, list.place(), message, hint);
    }
    let old = Workflow::clone(&graph.workflow);
    let (node_count, edge_count) = (old.nodes.len(), old.edges.len());
    let mut sketch = Sketch::new(old, root);
    sketch.sources = vec![Sources::at(root); node_count];
    sketch.edges = vec![root; edge_count];
    sketch.broken = read.iter().any(|task| task.broken);
    for task in read {
        task.add_to(&mut sketch, entry);
    }
    cycles::check(&mut sketch, &mut flaws);
    let patch = Patch {
        nodes: sketch.workflow.nodes[node_count..].to_vec(),
        edges: sketch.workflow.edges[edge_count..].to_vec(),
    };
    let servers = Value::object::<Str>([]);
    let document = sketch.finish(servers, hint.elsewhere, flaws)?;
    Ok(Growth { patch, document })
}
