//! Patches: what a replan adds to a graph. Patches only add, so completed steps stay valid.

use super::{Graph, Problem, ProblemLocation};
use crate::flaw::FlawCode;
use crate::ids::NodeIx;
use crate::workflow::{Action, Edge, Node, Workflow};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use tramline_expr::Str;

/// Nodes of a dependency cycle that a message names; longer cycles are cut.
const NAMES_MAX: usize = 8;

/// Nodes and edges to add.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// The nodes to add.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// The edges to add, between new nodes or from existing nodes to new ones.
    #[serde(default)]
    pub edges: Vec<Edge>,
}

impl Patch {
    /// Returns the patched graph, if it is valid.
    ///
    /// A new node without incoming edges starts as soon as the run's input is available.
    pub fn apply(&self, graph: &Graph) -> Result<Graph, Vec<Problem>> {
        let problems = self.check(graph);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut workflow = Workflow::clone(&graph.workflow);
        // The author of the graph did not write these tasks, so destructive calls need approval.
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
        grown.retention.all |= graph.retention.all;
        match find_cycle(&grown, graph.len()) {
            None => Ok(grown),
            Some(problem) => Err(vec![problem]),
        }
    }

    /// Extends a copy of a run's graph. A patch in a journal was valid when it was appended, so one
    /// that is not leaves the graph as it is.
    pub fn extend(&self, graph: &mut Arc<Graph>) {
        if let Ok(grown) = self.apply(graph) {
            *graph = Arc::new(grown);
        }
    }

    /// The problems of the patch itself.
    fn check(&self, graph: &Graph) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |spot, message, hint: &str| {
            problems.push(Problem {
                code: FlawCode::Unsupported,
                location: spot,
                message,
                suggestion: Some(hint.to_owned()),
                meant: None,
            });
        };
        if !graph.is_extensible() {
            let message = "this graph has an exit; only graphs of tasks can be extended".to_owned();
            refuse(ProblemLocation::Workflow, message, "start another run");
            return problems;
        }
        if self.nodes.is_empty() {
            let message = "the patch adds nothing".to_owned();
            refuse(
                ProblemLocation::Workflow,
                message,
                "give at least one new task",
            );
        }
        for (at, node) in (graph.len() as u32..).zip(&self.nodes) {
            if matches!(node.action, Action::Entry | Action::Exit) {
                let message = format!("`{}` is an entry or an exit", node.id);
                refuse(ProblemLocation::Node(NodeIx(at)), message, "add tasks only");
            }
        }
        for (at, edge) in self.edges.iter().enumerate() {
            // The existing node may already have run without waiting for it.
            if let Some(old) = graph.find(&edge.to) {
                let message = format!(
                    "`{}` already exists and cannot depend on new tasks",
                    edge.to
                );
                refuse(
                    ProblemLocation::Node(old),
                    message,
                    "make new tasks depend on existing ones",
                );
            } else if edge.from == edge.to {
                let message = format!("`{}` depends on itself", edge.to);
                refuse(ProblemLocation::Edge(at), message, "remove that dependency");
            }
        }
        problems
    }
}

/// The new nodes that depend on each other in a cycle, if any.
fn find_cycle(graph: &Graph, old: usize) -> Option<Problem> {
    let part = |at: NodeIx| graph.components.of[at.index()];
    let new = || (old as u32..graph.len() as u32).map(NodeIx);
    let first = new().find(|at| graph.components.cyclic[part(*at) as usize])?;
    let names: Vec<_> = new()
        .filter(|at| part(*at) == part(first))
        .take(NAMES_MAX)
        .map(|at| format!("`{}`", graph.node(at).id))
        .collect();
    Some(Problem {
        code: FlawCode::JoinOnCycle,
        location: ProblemLocation::Node(first),
        message: format!("these tasks depend on each other: {}", names.join(", ")),
        suggestion: Some("remove one of the dependencies".into()),
        meant: None,
    })
}
