//! Patches: what a replan adds to a graph. They only add, so every step taken stays true.

use super::{Graph, Problem, Spot};
use crate::flaw::Code;
use crate::ids::NodeIx;
use crate::workflow::{Action, Edge, Node, Workflow};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use tramline_expr::Str;

/// Longer circles are cut, in nodes.
const NAMES_MAX: usize = 8;

/// Nodes and edges to be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// The nodes to add.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// The edges to add, between new nodes or from old ones to new ones.
    #[serde(default)]
    pub edges: Vec<Edge>,
}

impl Patch {
    /// The graph with the patch in it, if that is a sound graph.
    ///
    /// A new node that nothing leads to begins as soon as the run's input is there.
    pub fn apply(&self, graph: &Graph) -> Result<Graph, Vec<Problem>> {
        let problems = self.check(graph);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut workflow = Workflow::clone(&graph.workflow);
        // Whoever wrote the graph did not write these tasks: destructive ones are asked about.
        workflow.cautious = true;
        workflow.nodes.extend(self.nodes.iter().cloned());
        workflow.edges.extend(self.edges.iter().cloned());
        let entry = graph
            .workflow
            .nodes
            .iter()
            .find(|node| node.action == Action::Entry);
        if let Some(entry) = entry {
            let led: HashSet<&Str> = self.edges.iter().map(|edge| &edge.to).collect();
            let first = self.nodes.iter().filter(|node| !led.contains(&node.id));
            let edges = first.map(|node| Edge::new(entry.id.clone(), node.id.clone()));
            workflow.edges.extend(edges);
        }
        let (mut grown, _) = Graph::build(workflow)?;
        grown.memory.all |= graph.memory.all;
        match circle(&grown, graph.len()) {
            None => Ok(grown),
            Some(problem) => Err(vec![problem]),
        }
    }

    /// What is wrong with the patch itself.
    fn check(&self, graph: &Graph) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |spot, message, hint: &str| {
            problems.push(Problem {
                code: Code::Unsupported,
                spot,
                message,
                suggestion: Some(hint.to_owned()),
            });
        };
        if !graph.can_grow() {
            let message = "this graph has an exit; only graphs of tasks grow".to_owned();
            refuse(Spot::Workflow, message, "start another run");
            return problems;
        }
        if self.nodes.is_empty() {
            let message = "the patch adds nothing".to_owned();
            refuse(Spot::Workflow, message, "give at least one new task");
        }
        for (at, node) in (graph.len() as u32..).zip(&self.nodes) {
            if matches!(node.action, Action::Entry | Action::Exit) {
                let message = format!("`{}` is an entry or an exit", node.id);
                refuse(Spot::Node(NodeIx(at)), message, "add tasks only");
            }
        }
        for (at, edge) in self.edges.iter().enumerate() {
            // What was there before may have run without waiting for it.
            if let Some(old) = graph.find(&edge.to) {
                let message = format!("`{}` is there already and cannot wait for more", edge.to);
                refuse(Spot::Node(old), message, "let new tasks wait for old ones");
            } else if edge.from == edge.to {
                let message = format!("`{}` waits for itself", edge.to);
                refuse(Spot::Edge(at), message, "remove that dependency");
            }
        }
        problems
    }
}

/// The new nodes that wait for each other, if any do.
fn circle(graph: &Graph, old: usize) -> Option<Problem> {
    let part = |at: NodeIx| graph.components.of[at.at()];
    let new = || (old as u32..graph.len() as u32).map(NodeIx);
    let first = new().find(|at| graph.components.cyclic[part(*at) as usize])?;
    let names: Vec<_> = new()
        .filter(|at| part(*at) == part(first))
        .take(NAMES_MAX)
        .map(|at| format!("`{}`", graph.node(at).id))
        .collect();
    Some(Problem {
        code: Code::JoinOnCycle,
        spot: Spot::Node(first),
        message: format!("these wait for each other: {}", names.join(", ")),
        suggestion: Some("remove one of the dependencies".into()),
    })
}
