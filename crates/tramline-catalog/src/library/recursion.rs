//! Detects recursion: which workflows a workflow calls, and whether it reaches itself.

use std::collections::{HashMap, VecDeque};
use tramline_engine::ports::Workflows;
use tramline_expr::Str;
use tramline_workflow::graph::Graph;

/// Most workflows that are examined for one save.
const VISITED_MAX: usize = 10_000;

/// The workflows that a graph calls by name.
fn called_workflows(graph: &Graph) -> impl Iterator<Item = &Str> {
    let nodes = graph.workflow.nodes.iter();
    let called = nodes.filter(|node| node.action.is_workflow_call());
    called.filter_map(|node| Some(&node.action.tool()?.tool))
}

/// The workflows through which a graph calls the name it is saved under: `None` if it does not, empty if it calls
/// itself directly.
pub(super) fn recursion_path(name: &str, graph: &Graph, all: &dyn Workflows) -> Option<Vec<Str>> {
    // By workflow, the one that calls it on the first path found.
    let mut from: HashMap<Str, Option<Str>> = HashMap::new();
    let mut open: VecDeque<Str> = VecDeque::new();
    for next in called_workflows(graph) {
        if next == name {
            return Some(Vec::new());
        }
        if from.insert(next.clone(), None).is_none() {
            open.push_back(next.clone());
        }
    }
    while let Some(at) = open.pop_front() {
        let Some(found) = all.find(&at) else { continue };
        for next in called_workflows(&found.graph) {
            if next == name {
                return Some(path_to(&from, at));
            }
            if from.len() < VISITED_MAX && !from.contains_key(next) {
                from.insert(next.clone(), Some(at.clone()));
                open.push_back(next.clone());
            }
        }
    }
    None
}

fn path_to(from: &HashMap<Str, Option<Str>>, last: Str) -> Vec<Str> {
    let mut path = vec![last];
    while let Some(Some(before)) = path.last().and_then(|at| from.get(at)) {
        path.push(before.clone());
    }
    path.reverse();
    path
}
