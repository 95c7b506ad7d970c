//! Checks the structure of a graph.

use super::{Graph, NodePart, Problem, ProblemLocation};
use crate::flaw::FlawCode;
use crate::ids::NodeIx;
use crate::text::nearest;
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, UnhandledFailure};
use std::collections::VecDeque;
use tramline_expr::Str;

/// Adds every structural problem of the graph.
pub(super) fn check_structure(graph: &Graph, problems: &mut Vec<Problem>) {
    if graph.is_empty() {
        problems.push(problem(
            FlawCode::MissingField,
            ProblemLocation::Workflow,
            format!("`{}` has no nodes", graph.workflow.name),
            "add at least an entry and an exit",
        ));
        return;
    }
    check_entries(graph, problems);
    check_joins(graph, problems);
    check_labels(graph, problems);
    // With unresolved edges, reachability would only repeat problems that are already reported.
    if problems
        .iter()
        .all(|found| found.code != FlawCode::UnknownNode && found.code != FlawCode::Duplicate)
    {
        check_reachability(graph, problems);
    }
}

fn problem(code: FlawCode, spot: ProblemLocation, message: String, suggestion: &str) -> Problem {
    Problem {
        code,
        location: spot,
        message,
        suggestion: Some(suggestion.to_owned()),
        meant: None,
    }
}

fn node_indexes(graph: &Graph) -> impl Iterator<Item = NodeIx> {
    (0..graph.len() as u32).map(NodeIx)
}

fn check_entries(graph: &Graph, problems: &mut Vec<Problem>) {
    let is_entry = |at: &NodeIx| graph.node(*at).action == Action::Entry;
    for extra in node_indexes(graph).filter(is_entry).skip(1) {
        problems.push(problem(
            FlawCode::NoEntry,
            ProblemLocation::Node(extra),
            format!("`{}` is a second entry", graph.node(extra).id),
            "keep one entry and connect it to both with `next: [a, b]`",
        ));
    }
    if graph.sources().is_empty()
        || (graph.has_exit() && !node_indexes(graph).any(|at| is_entry(&at)))
    {
        problems.push(problem(
            FlawCode::NoEntry,
            ProblemLocation::Workflow,
            format!("`{}` has no entry", graph.workflow.name),
            &missing_entry(graph),
        ));
    }
    for at in node_indexes(graph)
        .filter(is_entry)
        .filter(|at| graph.in_degree(*at) > 0)
    {
        problems.push(problem(
            FlawCode::NoEntry,
            ProblemLocation::Node(at),
            format!("an edge leads back to the entry `{}`", graph.node(at).id),
            "connect it to the node after the entry instead",
        ));
    }
}

/// How to add an entry before the only node that no edge leads to.
fn missing_entry(graph: &Graph) -> String {
    let mut first = node_indexes(graph).filter(|at| graph.in_degree(*at) == 0);
    match (first.next(), first.next(), graph.find("entry")) {
        (Some(first), None, None) => {
            let first = &graph.node(first).id;
            format!("add `- {{id: entry, type: entry, next: {first}}}` to the nodes")
        }
        _ => "add a node with `type: entry` whose `next` is the first node".to_owned(),
    }
}

/// How to continue after a node: with the next one in the document, if nothing else leads there.
fn missing_next(graph: &Graph, at: NodeIx, reached: &[bool]) -> String {
    let next = NodeIx(at.0 + 1);
    match reached.get(next.index()) {
        Some(false) => format!("add `next: {}` to it", graph.node(next).id),
        Some(true) | None => "give it a `next`".to_owned(),
    }
}

fn check_joins(graph: &Graph, problems: &mut Vec<Problem>) {
    for at in node_indexes(graph).filter(|at| graph.waits_for_all(*at)) {
        let part = graph.components.of[at.index()] as usize;
        if graph.components.cyclic[part] {
            problems.push(problem(
                FlawCode::JoinOnCycle,
                ProblemLocation::Node(at),
                format!(
                    "`{}` waits for all its incoming edges and is on a cycle",
                    graph.node(at).id
                ),
                "they can never all arrive: use `join: any`, or remove it from the cycle",
            ));
        }
    }
}

/// A switch needs an edge for every label it can pick; otherwise a run would end silently.
fn check_labels(graph: &Graph, problems: &mut Vec<Problem>) {
    for at in node_indexes(graph) {
        let Action::Choose { rules, otherwise } = &graph.node(at).action else {
            continue;
        };
        for label in rules.iter().map(|choice| &choice.label).chain(otherwise) {
            let known = || graph.out_edges(at).iter().map(|out| &out.label);
            let broken = graph
                .workflow
                .edges
                .iter()
                .any(|edge| edge.from == graph.node(at).id && edge.label == *label);
            if !broken && !known().any(|have| have == label) {
                let branch = rules.iter().position(|choice| choice.label == *label);
                problems.push(Problem {
                    code: FlawCode::DeadEnd,
                    location: ProblemLocation::Inside {
                        node: at,
                        part: NodePart::Branch(branch.unwrap_or(rules.len())),
                        pointer: String::new(),
                        span: None,
                        name: None,
                    },
                    message: format!(
                        "`{}` may pick `{label}`, but no edge has that label",
                        graph.node(at).id
                    ),
                    suggestion: nearest(label, known().map(Str::as_str))
                        .map(|near| format!("did you mean `{near}`?")),
                    meant: None,
                });
            }
        }
    }
}

fn check_reachability(graph: &Graph, problems: &mut Vec<Problem>) {
    let reached = reachable_from(graph, graph.sources().iter().copied(), |at, visit| {
        graph.out_edges(at).iter().for_each(|out| visit(out.to));
    });
    for at in node_indexes(graph).filter(|at| !reached[at.index()]) {
        problems.push(problem(
            FlawCode::Unreachable,
            ProblemLocation::Node(at),
            format!("no edge leads to `{}`", graph.node(at).id),
            "connect another node to it, or remove it",
        ));
    }
    if !graph.has_exit() {
        // A graph of tasks ends when nothing is left to run, so it needs no exit.
        let of_tasks = graph.workflow.unhandled == UnhandledFailure::SkipsDependents;
        let mut nodes = graph.workflow.nodes.iter();
        if !of_tasks && nodes.any(|node| node.action == Action::Entry) {
            problems.push(problem(
                FlawCode::NoExit,
                ProblemLocation::Workflow,
                format!("`{}` has no exit", graph.workflow.name),
                "add a node with `type: exit`",
            ));
        }
        return;
    }
    check_exits(graph, &reached, problems);
}

fn check_exits(graph: &Graph, reached: &[bool], problems: &mut Vec<Problem>) {
    let mut back = vec![Vec::new(); graph.len()];
    for at in node_indexes(graph) {
        graph
            .out_edges(at)
            .iter()
            .for_each(|out| back[out.to.index()].push(at));
    }
    // Nodes before a dead end are fixed together with it, so only the dead end is reported.
    let goes_on = |at: NodeIx| {
        graph
            .out_edges(at)
            .iter()
            .any(|out| out.label != ERROR_LABEL)
    };
    let last = |at: &NodeIx| graph.node(*at).action == Action::Exit || !goes_on(*at);
    let arrives = reachable_from(graph, node_indexes(graph).filter(last), |at, visit| {
        back[at.index()].iter().for_each(|&from| visit(from))
    });
    for at in node_indexes(graph).filter(|at| reached[at.index()]) {
        let node = graph.node(at);
        if node.action == Action::Exit {
            if !graph.out_edges(at).is_empty() {
                problems.push(problem(
                    FlawCode::DeadEnd,
                    ProblemLocation::Node(at),
                    format!("the exit `{}` has an outgoing edge", node.id),
                    "remove its `next`: an exit ends the run",
                ));
            }
        } else if !goes_on(at) {
            problems.push(problem(
                FlawCode::DeadEnd,
                ProblemLocation::Node(at),
                format!(
                    "`{}` has no outgoing edge labelled `{DEFAULT_LABEL}`",
                    node.id
                ),
                &missing_next(graph, at, reached),
            ));
        } else if !arrives[at.index()] {
            problems.push(problem(
                FlawCode::NoExit,
                ProblemLocation::Node(at),
                format!("no path leads from `{}` to an exit", node.id),
                "connect it, or a node after it, to an exit",
            ));
        }
    }
}

/// The nodes reachable from `from` through the neighbours that `ways` yields.
fn reachable_from(
    graph: &Graph,
    from: impl Iterator<Item = NodeIx>,
    ways: impl Fn(NodeIx, &mut dyn FnMut(NodeIx)),
) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut queue: VecDeque<NodeIx> = from.collect();
    queue.iter().for_each(|at| seen[at.index()] = true);
    while let Some(at) = queue.pop_front() {
        ways(at, &mut |to| {
            if !seen[to.index()] {
                seen[to.index()] = true;
                queue.push_back(to);
            }
        });
    }
    seen
}
