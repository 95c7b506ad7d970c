//! Coverage of a procedure by many sessions: nodes and edges taken, and where sessions
//! stopped.

use super::Procedure;
use super::audit::SopAudit;
use std::collections::BTreeMap;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::SopPosition;

/// How sessions covered a procedure.
#[derive(Clone, Debug, Default)]
pub struct SopCoverage {
    /// The number of sessions.
    pub sessions: usize,
    /// How often each node was entered, in node order.
    pub nodes: Vec<u64>,
    /// How often each edge was taken, in edge order.
    pub edges: Vec<u64>,
    /// How many sessions stopped at each node without it being an end.
    pub stopped: Vec<u64>,
    /// Moves along no edge (from, to), with their counts.
    pub off_edge_moves: BTreeMap<(Option<NodeIx>, NodeIx), u64>,
}

impl SopCoverage {
    /// Empty coverage of a procedure.
    pub fn new(procedure: &Procedure) -> Self {
        Self {
            nodes: vec![0; procedure.sop.nodes.len()],
            stopped: vec![0; procedure.sop.nodes.len()],
            edges: vec![0; procedure.sop.edges.len()],
            ..Self::default()
        }
    }

    /// Adds one session's coverage of the procedure with this index.
    pub fn add(&mut self, procedure: &Procedure, number: usize, audit: &SopAudit) {
        let is_here = |at: &SopPosition| at.sop as usize == number;
        let taken = audit.moves_taken.iter().filter(|(_, to, _)| is_here(to));
        let mut taken = taken.peekable();
        // Not every session enters a nested procedure.
        self.sessions += usize::from(number == 0 || taken.peek().is_some());
        let edges = &procedure.sop.edges;
        for (from, to, legal) in taken {
            let (from, to) = (from.map(|at| at.node), &to.node);
            if let Some(count) = self.nodes.get_mut(to.index()) {
                *count += 1;
            }
            let edge =
                from.and_then(|from| edges.iter().position(|it| (it.from, it.to) == (from, *to)));
            match edge {
                Some(edge) => self.edges[edge] += 1,
                // Moves to a hub or the entry need no edge.
                None if *legal => {}
                None => *self.off_edge_moves.entry((from, *to)).or_default() += 1,
            }
        }
        if let (Some(last), false) = (audit.last_position.filter(is_here), audit.reached_end)
            && let Some(count) = self.stopped.get_mut(last.node.index())
        {
            *count += 1;
        }
    }

    /// The number of nodes and edges taken at least once.
    pub fn covered(&self) -> (usize, usize) {
        let taken = |counts: &[u64]| counts.iter().filter(|count| **count > 0).count();
        (taken(&self.nodes), taken(&self.edges))
    }
}
