//! Which workflows a workflow calls, and whether it comes back to itself.

use crate::seams::Workflows;
use std::collections::{HashMap, VecDeque};
use tramline_core::Str;
use tramline_core::graph::Graph;
use tramline_core::workflow::{Action, WORKFLOW_SERVER};

/// Workflows that are looked at for one save.
const LOOKED_AT_MAX: usize = 10_000;

/// The workflows that a graph calls by name.
fn called(graph: &Graph) -> impl Iterator<Item = &Str> {
    let nodes = graph.workflow.nodes.iter();
    nodes.filter_map(|node| match &node.action {
        Action::Call { tool, .. } if tool.server == WORKFLOW_SERVER => Some(&tool.tool),
        Action::Call { .. }
        | Action::Entry
        | Action::Compute { .. }
        | Action::Choose { .. }
        | Action::Wait(_)
        | Action::Exit => None,
    })
}

/// The workflows through which a graph calls the name that it is to be saved under: nothing if it
/// does not, none if it does so itself.
pub(super) fn path_back(name: &str, graph: &Graph, all: &dyn Workflows) -> Option<Vec<Str>> {
    // From which workflow each was come to first.
    let mut from: HashMap<Str, Option<Str>> = HashMap::new();
    let mut open: VecDeque<Str> = VecDeque::new();
    for next in called(graph) {
        if next == name {
            return Some(Vec::new());
        }
        if from.insert(next.clone(), None).is_none() {
            open.push_back(next.clone());
        }
    }
    while let Some(at) = open.pop_front() {
        let Some(found) = all.find(&at) else { continue };
        for next in called(&found.graph) {
            if next == name {
                return Some(back(&from, at));
            }
            if from.len() < LOOKED_AT_MAX && !from.contains_key(next) {
                from.insert(next.clone(), Some(at.clone()));
                open.push_back(next.clone());
            }
        }
    }
    None
}

fn back(from: &HashMap<Str, Option<Str>>, last: Str) -> Vec<Str> {
    let mut path = vec![last];
    while let Some(Some(before)) = path.last().and_then(|at| from.get(at)) {
        path.push(before.clone());
    }
    path.reverse();
    path
}
