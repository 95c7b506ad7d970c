//! Where a run's tokens are: what is ready, what a join still waits for, what can never come.

use crate::graph::Graph;
use crate::ids::{NodeIx, Seq};
use std::collections::VecDeque;

/// A token that is about to enter a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The node.
    pub node: NodeIx,
    /// The visit it comes from: a place in the history.
    pub(crate) from: Option<u32>,
    /// What somebody said about the visit before it begins.
    pub(crate) leave: Leave,
}

impl Token {
    /// What was agreed to about the visit.
    pub fn approval(&self) -> Approval {
        self.leave.approval
    }
}

/// What was agreed to about a visit before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// Nothing.
    #[default]
    None,
    /// What its document or an annotation asks for, in an answer that was relayed.
    Relayed,
    /// Everything, what the operator asks for included.
    Full,
}

/// What somebody said about a visit before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leave {
    /// What was agreed to about it.
    pub(crate) approval: Approval,
    /// It has halted here and goes on.
    pub(crate) passed: bool,
    /// Its call may be made although another run has made it.
    pub(crate) effect: bool,
    /// Its output is given; see [`Run::given`](super::Run).
    pub(crate) given: bool,
    /// The question whose recorded call is the one to make, or 0; see [`Run::agreed`](super::Run).
    pub(crate) agreed: Seq,
}

/// How a node that waits for all stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Joining {
    #[default]
    Waiting,
    Entered,
    Skipped,
}

/// The tokens of a run. Each event costs only the edges it touches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) ready: VecDeque<Token>,
    /// For each way into a node that waits for all: how many tokens wait there.
    arrived: Vec<u32>,
    /// For each node that waits for all: how many of its ways in have no token.
    missing: Vec<u32>,
    joins: Vec<Joining>,
    /// For each part of the graph: its tokens at work plus the ways into it that are not closed.
    live: Vec<u32>,
    closed: Vec<bool>,
}

impl Flow {
    /// The tokens at a run's beginning.
    pub(crate) fn begin(graph: &Graph) -> Self {
        let parts = graph.components.entering.len();
        let mut flow = Self {
            ready: VecDeque::new(),
            arrived: vec![0; graph.ways()],
            missing: (0..graph.len() as u32)
                .map(|at| graph.ins(NodeIx(at)))
                .collect(),
            joins: vec![Joining::Waiting; graph.len()],
            live: graph.components.entering.clone(),
            closed: vec![false; parts],
        };
        for &node in graph.sources() {
            flow.enter(
                graph,
                Token {
                    node,
                    from: None,
                    leave: Leave::default(),
                },
            );
        }
        // What no way leads to can never come either.
        for part in 0..parts {
            if flow.live[part] == 0 && !flow.closed[part] {
                flow.close(graph, part);
            }
        }
        flow
    }

    fn enter(&mut self, graph: &Graph, token: Token) {
        self.live[graph.components.of[token.node.at()] as usize] += 1;
        self.ready.push_back(token);
    }

    /// Takes the first token that waits to enter `node`.
    pub(crate) fn take(&mut self, node: NodeIx) -> Option<Token> {
        match self.ready.front() {
            Some(first) if first.node == node => self.ready.pop_front(),
            _ => {
                let at = self.ready.iter().position(|token| token.node == node)?;
                self.ready.remove(at)
            }
        }
    }

    /// Takes the first token at `node` that fits, or else the first one there.
    pub(crate) fn take_fitting(
        &mut self,
        node: NodeIx,
        fits: impl Fn(&Leave) -> bool,
    ) -> Option<Token> {
        let mut ready = self.ready.iter();
        match ready.position(|token| token.node == node && fits(&token.leave)) {
            Some(at) => self.ready.remove(at),
            // Journals of earlier versions asked about a token again that was agreed to before.
            None => self.take(node),
        }
    }

    /// A visit ended with a label: tokens go along the edges that carry it.
    pub(crate) fn leave(&mut self, graph: &Graph, node: NodeIx, label: &str, visit: Option<u32>) {
        for out in graph.outs(node) {
            if out.label == label {
                self.arrive(graph, out.to, out.way, visit);
            }
        }
        let part = graph.components.of[node.at()] as usize;
        self.release(graph, part);
    }

    fn arrive(&mut self, graph: &Graph, node: NodeIx, way: u32, from: Option<u32>) {
        let token = Token {
            node,
            from,
            leave: Leave::default(),
        };
        if !graph.waits_for_all(node) {
            self.enter(graph, token);
            return;
        }
        if self.joins[node.at()] == Joining::Skipped {
            return;
        }
        self.arrived[way as usize] += 1;
        if self.arrived[way as usize] > 1 {
            return;
        }
        self.missing[node.at()] -= 1;
        if self.missing[node.at()] == 0 {
            self.gather(graph, node);
            self.joins[node.at()] = Joining::Entered;
            self.enter(graph, token);
        }
    }

    /// Takes one token from each way into a node that has them all.
    fn gather(&mut self, graph: &Graph, node: NodeIx) {
        for &way in graph.ways_into(node) {
            self.arrived[way as usize] -= 1;
            if self.arrived[way as usize] == 0 {
                self.missing[node.at()] += 1;
            }
        }
    }

    fn release(&mut self, graph: &Graph, part: usize) {
        if self.closed[part] {
            return;
        }
        self.live[part] -= 1;
        if self.live[part] == 0 {
            self.close(graph, part);
        }
    }

    /// Nothing can come out of a part any more; what waited for it is skipped, and so on down.
    fn close(&mut self, graph: &Graph, part: usize) {
        let mut work = vec![part];
        while let Some(part) = work.pop() {
            if std::mem::replace(&mut self.closed[part], true) {
                continue;
            }
            for &(way, to) in &graph.components.leaving[part] {
                let (node, below) = (NodeIx(to), graph.components.of[to as usize] as usize);
                if self.closed[below] {
                    continue;
                }
                let starved = graph.waits_for_all(node)
                    && self.arrived[way as usize] == 0
                    && self.joins[node.at()] == Joining::Waiting;
                self.live[below] -= 1;
                if starved {
                    self.joins[node.at()] = Joining::Skipped;
                    work.push(below);
                } else if self.live[below] == 0 {
                    work.push(below);
                }
            }
        }
    }

    /// The nodes that wait for tokens that will not come.
    pub(crate) fn waiting<'g>(&'g self, graph: &'g Graph) -> impl Iterator<Item = NodeIx> + 'g {
        (0..graph.len() as u32).map(NodeIx).filter(move |&node| {
            graph.waits_for_all(node)
                && graph
                    .ways_into(node)
                    .iter()
                    .any(|&way| self.arrived[way as usize] > 0)
        })
    }
}
