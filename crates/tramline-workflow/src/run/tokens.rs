//! The tokens of a run: which are ready, what joins still wait for, and what can no longer arrive.

use crate::graph::Graph;
use crate::ids::{NodeIx, Seq};
use std::collections::VecDeque;

/// A token that is about to enter a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The node.
    pub node: NodeIx,
    /// The visit it comes from, as a position in the history.
    pub(crate) from: Option<u32>,
    /// What answers have granted for the visit.
    pub(crate) clearance: Clearance,
}

impl Token {
    /// The approval given for the visit.
    pub fn approval(&self) -> Approval {
        self.clearance.approval
    }
}

/// The approval given for a visit before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// No approval.
    #[default]
    None,
    /// What its document or an annotation requires, through a relayed answer.
    Relayed,
    /// Everything, including what the operator requires.
    Full,
}

/// What answers have granted for a visit before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clearance {
    /// The approval.
    pub(crate) approval: Approval,
    /// It has already stopped at its breakpoint and continues.
    pub(crate) passed_breakpoint: bool,
    /// Its call may be made although the original run already made it.
    pub(crate) effect_allowed: bool,
    /// The pause whose answer gave its output, or 0; see [`Run::given_outputs`](super::Run).
    pub(crate) given_at: Seq,
    /// The pause whose recorded call is to be made, or 0; see [`Run::agreed`](super::Run).
    pub(crate) approved_pause: Seq,
}

/// The state of a node that waits for all incoming connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum JoinState {
    #[default]
    Waiting,
    Entered,
    Skipped,
}

/// The tokens of a run. Applying an event only costs the edges it touches.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenFlow {
    pub(crate) ready: VecDeque<Token>,
    /// For each connection into a joining node, the number of waiting tokens.
    arrived: Vec<u32>,
    /// For each joining node, the number of incoming connections without a token.
    missing: Vec<u32>,
    joins: Vec<JoinState>,
    /// For each component, its active tokens plus the incoming connections that are not closed.
    live: Vec<u32>,
    closed: Vec<bool>,
}

impl TokenFlow {
    /// The tokens at the start of a run.
    pub(crate) fn start(graph: &Graph) -> Self {
        let parts = graph.components.entering.len();
        let mut flow = Self {
            ready: VecDeque::new(),
            arrived: vec![0; graph.connection_count()],
            missing: (0..graph.len() as u32)
                .map(|at| graph.in_degree(NodeIx(at)))
                .collect(),
            joins: vec![JoinState::Waiting; graph.len()],
            live: graph.components.entering.clone(),
            closed: vec![false; parts],
        };
        for &node in graph.sources() {
            flow.enter(
                graph,
                Token {
                    node,
                    from: None,
                    clearance: Clearance::default(),
                },
            );
        }
        // Components that cannot be reached are closed from the start.
        for part in 0..parts {
            if flow.live[part] == 0 && !flow.closed[part] {
                flow.close(graph, part);
            }
        }
        flow
    }

    fn enter(&mut self, graph: &Graph, token: Token) {
        self.live[graph.components.of[token.node.index()] as usize] += 1;
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

    /// Takes the first matching token at `node`, or else the first one there.
    pub(crate) fn take_matching(
        &mut self,
        node: NodeIx,
        fits: impl Fn(&Clearance) -> bool,
    ) -> Option<Token> {
        let mut ready = self.ready.iter();
        match ready.position(|token| token.node == node && fits(&token.clearance)) {
            Some(at) => self.ready.remove(at),
            // Journals of earlier versions contain pauses for tokens that were already approved.
            None => self.take(node),
        }
    }

    /// A visit ended with a label: sends tokens along the edges with that label.
    pub(crate) fn finish_visit(
        &mut self,
        graph: &Graph,
        node: NodeIx,
        label: &str,
        visit: Option<u32>,
    ) {
        for out in graph.out_edges(node) {
            if out.label == label {
                self.arrive(graph, out.to, out.connection, visit);
            }
        }
        let part = graph.components.of[node.index()] as usize;
        self.release(graph, part);
    }

    fn arrive(&mut self, graph: &Graph, node: NodeIx, way: u32, from: Option<u32>) {
        let token = Token {
            node,
            from,
            clearance: Clearance::default(),
        };
        if !graph.waits_for_all(node) {
            self.enter(graph, token);
            return;
        }
        if self.joins[node.index()] == JoinState::Skipped {
            return;
        }
        self.arrived[way as usize] += 1;
        if self.arrived[way as usize] > 1 {
            return;
        }
        self.missing[node.index()] -= 1;
        if self.missing[node.index()] == 0 {
            self.consume_join(graph, node);
            self.joins[node.index()] = JoinState::Entered;
            self.enter(graph, token);
        }
    }

    /// Takes one token from each incoming connection of a complete join.
    fn consume_join(&mut self, graph: &Graph, node: NodeIx) {
        for &way in graph.incoming_connections(node) {
            self.arrived[way as usize] -= 1;
            if self.arrived[way as usize] == 0 {
                self.missing[node.index()] += 1;
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

    /// Closes a component: joins that wait for it are skipped, and so are the components after
    /// them.
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
                    && self.joins[node.index()] == JoinState::Waiting;
                self.live[below] -= 1;
                if starved {
                    self.joins[node.index()] = JoinState::Skipped;
                    work.push(below);
                } else if self.live[below] == 0 {
                    work.push(below);
                }
            }
        }
    }

    /// The nodes that wait for tokens that can no longer arrive.
    pub(crate) fn starved_joins<'g>(
        &'g self,
        graph: &'g Graph,
    ) -> impl Iterator<Item = NodeIx> + 'g {
        (0..graph.len() as u32).map(NodeIx).filter(move |&node| {
            graph.waits_for_all(node)
                && graph
                    .incoming_connections(node)
                    .iter()
                    .any(|&way| self.arrived[way as usize] > 0)
        })
    }
}
