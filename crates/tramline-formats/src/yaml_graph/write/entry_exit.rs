//! Adds the entry, the results and the exit that a tool must have to a graph of tasks.

use crate::LossCollector;
use crate::reference::{ReferencePath, jsonata_string};
use std::collections::{HashMap, HashSet};
use tramline_expr::Str;
use tramline_workflow::workflow::{
    Action, DEFAULT_LABEL, Edge, Join, Node, UnhandledFailure, Workflow,
};

/// The workflow with an entry and an exit added, if one is missing.
pub(super) fn with_entry_and_exit(
    workflow: &Workflow,
    lost: &mut LossCollector,
) -> Option<Workflow> {
    let has = |action: &Action| workflow.nodes.iter().any(|node| node.action == *action);
    lost.add_dag_defaults(workflow);
    match workflow.unhandled {
        UnhandledFailure::SkipsDependents => {
            lost.add("that a failure skips only its dependents: here it ends the run");
        }
        UnhandledFailure::EndsRun => {}
    }
    let (entry, exit) = (has(&Action::Entry), has(&Action::Exit));
    if entry && exit {
        return None;
    }
    let mut whole = workflow.clone();
    whole.unhandled = UnhandledFailure::EndsRun;
    relax_joins(&mut whole);
    if !entry {
        add_entry(&mut whole);
    }
    if !exit {
        add_exit(&mut whole, workflow);
    }
    Some(whole)
}

/// A node with one predecessor does not need to wait for all.
fn relax_joins(whole: &mut Workflow) {
    let mut before: HashMap<&str, HashSet<&str>> = HashMap::new();
    for edge in &whole.edges {
        before.entry(&edge.to).or_default().insert(&edge.from);
    }
    let waits: HashSet<Str> = before
        .into_iter()
        .filter(|(_, from)| from.len() > 1)
        .map(|(to, _)| Str::from(to))
        .collect();
    for node in &mut whole.nodes {
        if !waits.contains(&node.id) {
            node.join = Join::Any;
        }
    }
}

fn unused_id(workflow: &Workflow, name: &str) -> Str {
    let mut id = name.to_owned();
    while workflow.nodes.iter().any(|node| node.id == id) {
        id.push('_');
    }
    id.into()
}

/// Adds an entry before all nodes without predecessors.
fn add_entry(whole: &mut Workflow) {
    let entry = unused_id(whole, "entry");
    let led_to: HashSet<&str> = whole.edges.iter().map(|edge| edge.to.as_str()).collect();
    let first = whole
        .nodes
        .iter()
        .filter(|node| !led_to.contains(node.id.as_str()));
    let mut edges: Vec<_> = first
        .map(|node| Edge::new(entry.clone(), node.id.clone()))
        .collect();
    edges.append(&mut whole.edges);
    whole.edges = edges;
    whole.nodes.insert(0, Node::new(entry, Action::Entry));
}

/// Collects the outputs of all nodes, like a run without an exit, and adds the exit.
fn add_exit(whole: &mut Workflow, given: &Workflow) {
    let (results, exit) = (unused_id(whole, "results"), unused_id(whole, "exit"));
    let goes_on: HashSet<&str> = whole
        .edges
        .iter()
        .filter(|edge| edge.label == DEFAULT_LABEL)
        .map(|edge| edge.from.as_str())
        .collect();
    let last: Vec<_> = whole
        .nodes
        .iter()
        .filter(|node| !goes_on.contains(node.id.as_str()))
        .map(|node| Edge::new(node.id.clone(), results.clone()))
        .collect();
    let parts: Vec<_> = given
        .nodes
        .iter()
        .map(|node| {
            let path = ReferencePath::new(node.id.clone(), Vec::new());
            format!("  {}: {}", jsonata_string(&node.id), path.jsonata())
        })
        .collect();
    let expression = format!("{{\n{}\n}}\n", parts.join(",\n")).into();
    let mut gather = Node::new(results.clone(), Action::Compute { expression });
    if last.len() > 1 {
        gather.join = Join::All;
    }
    whole.edges.extend(last);
    whole.nodes.push(gather);
    whole.edges.push(Edge::new(results, exit.clone()));
    whole.nodes.push(Node::new(exit, Action::Exit));
}
