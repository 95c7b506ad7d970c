//! A graph of tasks gets what a tool must have: an entry, an exit, and before it the results.

use crate::formats::Lost;
use crate::formats::reference::{Path, text};
use crate::workflow::{Action, DEFAULT_LABEL, Edge, Join, Node, Unhandled, Workflow};
use std::collections::{HashMap, HashSet};
use tramline_expr::Str;

/// The workflow with an entry and an exit, where it lacks one of them.
pub(super) fn supplied(workflow: &Workflow, lost: &mut Lost) -> Option<Workflow> {
    let has = |action: &Action| workflow.nodes.iter().any(|node| node.action == *action);
    lost.care(workflow);
    match workflow.unhandled {
        Unhandled::SkipsDependents => {
            lost.add("that a failure skips only what depends on it: here it ends the run");
        }
        Unhandled::EndsRun => {}
    }
    let (entry, exit) = (has(&Action::Entry), has(&Action::Exit));
    if entry && exit {
        return None;
    }
    let mut whole = workflow.clone();
    whole.unhandled = Unhandled::EndsRun;
    plain_joins(&mut whole);
    if !entry {
        begin(&mut whole);
    }
    if !exit {
        end(&mut whole, workflow);
    }
    Some(whole)
}

/// Where one way leads in, there is nothing to wait for.
fn plain_joins(whole: &mut Workflow) {
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

fn free(workflow: &Workflow, name: &str) -> Str {
    let mut id = name.to_owned();
    while workflow.nodes.iter().any(|node| node.id == id) {
        id.push('_');
    }
    id.into()
}

/// Puts an entry before everything that nothing leads to.
fn begin(whole: &mut Workflow) {
    let entry = free(whole, "entry");
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

/// Gathers what every node gave, as a run without an exit does, and ends with it.
fn end(whole: &mut Workflow, given: &Workflow) {
    let (results, exit) = (free(whole, "results"), free(whole, "exit"));
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
            let path = Path::new(node.id.clone(), Vec::new());
            format!("  {}: {}", text(&node.id), path.jsonata())
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
