//! Whether the output of one node can exist when another one is entered.

use crate::graph::Graph;
use crate::ids::NodeIx;
use crate::workflow::UnhandledFailure;
use std::collections::{HashMap, HashSet};

/// Edges followed per graph; beyond that nothing is reported.
const STEPS_MAX: usize = 2_000_000;

/// Answers which node can run before which.
pub(super) struct Availability<'g> {
    graph: &'g Graph,
    /// Whether the order of nodes is known at all.
    is_known: bool,
    /// Whether nodes can run in parallel, so that nodes beside each other run in any order.
    has_forks: bool,
    /// The nodes with an edge to each node.
    back: Vec<Vec<NodeIx>>,
    reachable: Vec<bool>,
    /// The node asked about last, and the nodes before it.
    of: Option<NodeIx>,
    before: HashSet<NodeIx>,
    answers: HashMap<NodeIx, bool>,
    steps: usize,
}

impl<'g> Availability<'g> {
    pub(super) fn new(graph: &'g Graph, is_known: bool) -> Self {
        let mut this = Self {
            graph,
            is_known,
            has_forks: graph.sources().len() > 1,
            back: vec![Vec::new(); graph.len()],
            reachable: Vec::new(),
            of: None,
            before: HashSet::new(),
            answers: HashMap::new(),
            steps: 0,
        };
        for at in (0..graph.len() as u32).map(NodeIx) {
            let outs = graph.out_edges(at);
            for (number, out) in outs.iter().enumerate() {
                this.back[out.to.index()].push(at);
                let same =
                    |other: &&super::super::OutEdge| other.label == out.label && other.to != out.to;
                // Only the first few edges of a node are compared; more of them are a fork anyway.
                this.has_forks |= number < 8 && outs.iter().take(8).any(|other| same(&other));
                this.has_forks |= number >= 8;
            }
        }
        this.reachable = this.reach(graph.sources(), None);
        this
    }

    /// Whether the output of `node` can exist when `at` is entered.
    pub(super) fn can_be_before(&mut self, node: NodeIx, at: NodeIx) -> bool {
        if !self.is_known || !self.reachable[at.index()] || self.steps > STEPS_MAX {
            return true;
        }
        if self.of != Some(at) {
            self.of = Some(at);
            self.answers.clear();
            self.before = self.nodes_before(at);
        }
        if self.before.contains(&node) || self.steps > STEPS_MAX {
            return true;
        }
        if let Some(known) = self.answers.get(&node) {
            return *known;
        }
        let answer = self.may_run_beside(node, at);
        self.answers.insert(node, answer);
        answer
    }

    fn nodes_before(&mut self, at: NodeIx) -> HashSet<NodeIx> {
        let mut seen = HashSet::new();
        let mut queue = vec![at];
        while let Some(here) = queue.pop() {
            for before in &self.back[here.index()] {
                self.steps += 1;
                if seen.insert(*before) {
                    queue.push(*before);
                }
            }
            if self.steps > STEPS_MAX {
                break;
            }
        }
        seen
    }

    /// Whether a node without a path to `at` may still have run: on a parallel branch.
    fn may_run_beside(&mut self, node: NodeIx, at: NodeIx) -> bool {
        let of_tasks = self.graph.workflow.unhandled == UnhandledFailure::SkipsDependents;
        if of_tasks || !self.has_forks {
            return false;
        }
        if node == at {
            return false;
        }
        // After `at` on every path: it needs `at` first.
        self.reach(self.graph.sources(), Some(at))[node.index()] || !self.reachable[node.index()]
    }

    fn reach(&mut self, from: &[NodeIx], without: Option<NodeIx>) -> Vec<bool> {
        let mut seen = vec![false; self.graph.len()];
        let mut queue: Vec<NodeIx> = from.to_vec();
        queue.retain(|at| Some(*at) != without);
        queue.iter().for_each(|at| seen[at.index()] = true);
        while let Some(at) = queue.pop() {
            for out in self.graph.out_edges(at) {
                self.steps += 1;
                if Some(out.to) != without && !seen[out.to.index()] {
                    seen[out.to.index()] = true;
                    queue.push(out.to);
                }
            }
        }
        seen
    }
}
