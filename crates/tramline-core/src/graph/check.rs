//! What a graph's shape must be for a run of it to make sense.

use super::{Graph, Problem, Spot};
use crate::flaw::Code;
use crate::ids::NodeIx;
use crate::text::nearest;
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Unhandled};
use std::collections::VecDeque;
use tramline_expr::Str;

/// Adds every problem of the graph's shape.
pub(super) fn structure(graph: &Graph, problems: &mut Vec<Problem>) {
    if graph.is_empty() {
        problems.push(problem(
            Code::Missing,
            Spot::Workflow,
            format!("`{}` has no nodes", graph.workflow.name),
            "add at least an entry and an exit",
        ));
        return;
    }
    entries(graph, problems);
    joins(graph, problems);
    labels(graph, problems);
    // Reachability over edges that lead nowhere would only repeat what is already said.
    if problems
        .iter()
        .all(|found| found.code != Code::UnknownNode && found.code != Code::Duplicate)
    {
        reach(graph, problems);
    }
}

fn problem(code: Code, spot: Spot, message: String, suggestion: &str) -> Problem {
    Problem {
        code,
        spot,
        message,
        suggestion: Some(suggestion.to_owned()),
    }
}

fn places(graph: &Graph) -> impl Iterator<Item = NodeIx> {
    (0..graph.len() as u32).map(NodeIx)
}

fn entries(graph: &Graph, problems: &mut Vec<Problem>) {
    let is_entry = |at: &NodeIx| graph.node(*at).action == Action::Entry;
    for extra in places(graph).filter(is_entry).skip(1) {
        problems.push(problem(
            Code::NoEntry,
            Spot::Node(extra),
            format!("`{}` is a second entry", graph.node(extra).id),
            "keep one entry and lead from it to both with `next: [a, b]`",
        ));
    }
    if graph.sources().is_empty() || (graph.has_exit() && !places(graph).any(|at| is_entry(&at))) {
        problems.push(problem(
            Code::NoEntry,
            Spot::Workflow,
            format!("`{}` has no entry", graph.workflow.name),
            "add a node with `type: entry` that leads to the first node",
        ));
    }
    for at in places(graph)
        .filter(is_entry)
        .filter(|at| graph.ins(*at) > 0)
    {
        problems.push(problem(
            Code::NoEntry,
            Spot::Node(at),
            format!("a way leads back into the entry `{}`", graph.node(at).id),
            "lead back to the node after the entry",
        ));
    }
}

fn joins(graph: &Graph, problems: &mut Vec<Problem>) {
    for at in places(graph).filter(|at| graph.waits_for_all(*at)) {
        let part = graph.components.of[at.at()] as usize;
        if graph.components.cyclic[part] {
            problems.push(problem(
                Code::JoinOnCycle,
                Spot::Node(at),
                format!(
                    "`{}` waits for all its ways in and lies on a cycle",
                    graph.node(at).id
                ),
                "a cycle can never bring all of them: use `join: any`, or take it off the cycle",
            ));
        }
    }
}

/// A choice must have a way for every label it can pick, or a run would end without a word.
fn labels(graph: &Graph, problems: &mut Vec<Problem>) {
    for at in places(graph) {
        let Action::Choose { rules, otherwise } = &graph.node(at).action else {
            continue;
        };
        for label in rules.iter().map(|choice| &choice.label).chain(otherwise) {
            let known = || graph.outs(at).iter().map(|out| &out.label);
            let broken = graph
                .workflow
                .edges
                .iter()
                .any(|edge| edge.from == graph.node(at).id && edge.label == *label);
            if !broken && !known().any(|have| have == label) {
                problems.push(Problem {
                    code: Code::DeadEnd,
                    spot: Spot::Node(at),
                    message: format!(
                        "`{}` may pick `{label}`, but no way has it",
                        graph.node(at).id
                    ),
                    suggestion: nearest(label, known().map(Str::as_str))
                        .map(|near| format!("did you mean `{near}`?")),
                });
            }
        }
    }
}

fn reach(graph: &Graph, problems: &mut Vec<Problem>) {
    let reached = flood(graph, graph.sources().iter().copied(), |at, visit| {
        graph.outs(at).iter().for_each(|out| visit(out.to));
    });
    for at in places(graph).filter(|at| !reached[at.at()]) {
        problems.push(problem(
            Code::Unreachable,
            Spot::Node(at),
            format!("no way leads to `{}`", graph.node(at).id),
            "lead to it from another node, or remove it",
        ));
    }
    if !graph.has_exit() {
        // A graph of tasks ends when nothing is left to do; it needs no exit.
        let of_tasks = graph.workflow.unhandled == Unhandled::SkipsDependents;
        let mut nodes = graph.workflow.nodes.iter();
        if !of_tasks && nodes.any(|node| node.action == Action::Entry) {
            problems.push(problem(
                Code::NoExit,
                Spot::Workflow,
                format!("`{}` has no exit", graph.workflow.name),
                "add a node with `type: exit`",
            ));
        }
        return;
    }
    ends(graph, &reached, problems);
}

fn ends(graph: &Graph, reached: &[bool], problems: &mut Vec<Problem>) {
    let mut back = vec![Vec::new(); graph.len()];
    for at in places(graph) {
        graph
            .outs(at)
            .iter()
            .for_each(|out| back[out.to.at()].push(at));
    }
    // What leads to a dead end is mended with the dead end; only the end itself is told.
    let goes_on = |at: NodeIx| graph.outs(at).iter().any(|out| out.label != ERROR_LABEL);
    let last = |at: &NodeIx| graph.node(*at).action == Action::Exit || !goes_on(*at);
    let arrives = flood(graph, places(graph).filter(last), |at, visit| {
        back[at.at()].iter().for_each(|&from| visit(from))
    });
    for at in places(graph).filter(|at| reached[at.at()]) {
        let node = graph.node(at);
        if node.action == Action::Exit {
            if !graph.outs(at).is_empty() {
                problems.push(problem(
                    Code::DeadEnd,
                    Spot::Node(at),
                    format!("a way leads out of the exit `{}`", node.id),
                    "remove its `next`: an exit ends the run",
                ));
            }
        } else if !goes_on(at) {
            problems.push(problem(
                Code::DeadEnd,
                Spot::Node(at),
                format!(
                    "`{}` leads nowhere (no way out labelled `{DEFAULT_LABEL}`)",
                    node.id
                ),
                "give it a `next`",
            ));
        } else if !arrives[at.at()] {
            problems.push(problem(
                Code::NoExit,
                Spot::Node(at),
                format!("from `{}` no way leads to an exit", node.id),
                "lead it, or a node after it, to an exit",
            ));
        }
    }
}

/// The nodes that can be come to from `from`, by the steps `ways` gives.
fn flood(
    graph: &Graph,
    from: impl Iterator<Item = NodeIx>,
    ways: impl Fn(NodeIx, &mut dyn FnMut(NodeIx)),
) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut queue: VecDeque<NodeIx> = from.collect();
    queue.iter().for_each(|at| seen[at.at()] = true);
    while let Some(at) = queue.pop_front() {
        ways(at, &mut |to| {
            if !seen[to.at()] {
                seen[to.at()] = true;
                queue.push_back(to);
            }
        });
    }
    seen
}
