//! What must be done before a hub may be entered.
//!
//! A hub can be entered from anywhere, so the nodes before it would be easy to skip. A move to it
//! therefore requires the demands (`must_call`, required slots) of every node on all paths from the
//! entry to it: its dominators in the flowchart.

use super::SopSession;
use tramline_expr::Str;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::SopPosition;
use tramline_workflow::sop::{AnyOf, Sop};

/// A node with unmet demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetDemand {
    /// The node.
    pub node: Str,
    /// The slots that must be set there.
    pub slots: Vec<Str>,
    /// The tools that must be called there.
    pub tools: Vec<AnyOf>,
}

/// The immediate dominator of each node: the last node that every path from the entry to it passes.
#[derive(Debug)]
pub(super) struct Dominators {
    entry: NodeIx,
    /// By node; `None` for nodes that are unreachable in the flowchart. The entry dominates itself.
    immediate: Vec<Option<NodeIx>>,
    /// The position of each node in the postorder of a depth-first search from the entry.
    rank: Vec<u32>,
}

impl Dominators {
    /// Computes them over the drawn edges with the algorithm of Cooper, Harvey and Kennedy.
    pub(super) fn of(sop: &Sop) -> Self {
        let count = sop.nodes.len();
        let (mut next, mut before) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for edge in &sop.edges {
            next[edge.from.index()].push(edge.to);
            before[edge.to.index()].push(edge.from);
        }
        let order = postorder(sop.entry, &next);
        let mut rank = vec![0; count];
        for (at, node) in order.iter().enumerate() {
            rank[node.index()] = at as u32;
        }
        let mut found = Self {
            entry: sop.entry,
            immediate: vec![None; count],
            rank,
        };
        found.immediate[sop.entry.index()] = Some(sop.entry);
        let mut changed = true;
        while changed {
            changed = false;
            for node in order.iter().rev().filter(|node| **node != sop.entry) {
                let known = before[node.index()].iter().copied();
                let known = known.filter(|from| found.immediate[from.index()].is_some());
                let merged = known.reduce(|one, other| found.common_dominator(one, other));
                changed |= found.immediate[node.index()] != merged;
                found.immediate[node.index()] = merged;
            }
        }
        found
    }

    /// The last node that all paths to either of two nodes pass.
    fn common_dominator(&self, mut one: NodeIx, mut other: NodeIx) -> NodeIx {
        while one != other {
            let (behind, ahead) = match self.rank[one.index()] < self.rank[other.index()] {
                true => (&mut one, other),
                false => (&mut other, one),
            };
            match self.immediate[behind.index()] {
                Some(above) if above != *behind => *behind = above,
                // Only the entry dominates itself, and it dominates everything.
                _ => *behind = ahead,
            }
        }
        one
    }

    /// Whether a drawn path leads from the entry to a node.
    fn is_reachable(&self, at: NodeIx) -> bool {
        self.immediate[at.index()].is_some()
    }

    /// The nodes on every path from the entry to a node, the entry first, without the node itself.
    fn dominators_of(&self, at: NodeIx) -> Vec<NodeIx> {
        let mut found = Vec::new();
        let mut at = at;
        while let Some(above) = self.immediate[at.index()]
            && at != self.entry
        {
            found.push(above);
            at = above;
        }
        found.reverse();
        found
    }

    /// The nodes on every path from the entry to any of these nodes.
    fn common_dominators(&self, ends: impl Iterator<Item = NodeIx>) -> Vec<NodeIx> {
        let reached = ends.filter(|end| self.immediate[end.index()].is_some());
        let Some(last) = reached.reduce(|one, other| self.common_dominator(one, other)) else {
            return Vec::new();
        };
        let mut found = self.dominators_of(last);
        found.push(last);
        found
    }
}

/// The reachable nodes in depth-first postorder.
fn postorder(entry: NodeIx, next: &[Vec<NodeIx>]) -> Vec<NodeIx> {
    let mut seen = vec![false; next.len()];
    let (mut order, mut open) = (Vec::new(), vec![(entry, 0)]);
    seen[entry.index()] = true;
    while let Some((node, edge)) = open.last_mut() {
        match next[node.index()].get(*edge) {
            Some(to) => {
                *edge += 1;
                if !std::mem::replace(&mut seen[to.index()], true) {
                    open.push((*to, 0));
                }
            }
            None => {
                order.push(*node);
                open.pop();
            }
        }
    }
    order
}

impl SopSession {
    /// The hubs of the innermost procedure, each with the demands that block it.
    pub fn hubs(&self) -> Vec<(Str, Vec<UnmetDemand>)> {
        let (here, sop) = (self.current_procedure(), self.frame().sop);
        let all = (0..here.sop.nodes.len() as u32).map(NodeIx);
        let hubs = all.filter(|node| here.node(*node).hub && here.sop.entry != *node);
        hubs.map(|node| {
            let id = here.node(node).id.clone();
            (id, self.unmet_demands_before(SopPosition { sop, node }))
        })
        .collect()
    }

    /// The unmet demands before the target of an edge, if no drawn path leads to its source. Such a
    /// source is entered as a hub, past the nodes that the drawn paths to the target pass.
    pub(super) fn demands_skipped_by_edge(&self, at: NodeIx, to: NodeIx) -> Vec<UnmetDemand> {
        let (here, sop) = (self.current_procedure(), self.frame().sop);
        match here.dominators.is_reachable(at) {
            true => Vec::new(),
            false => self.unmet_demands_before(SopPosition { sop, node: to }),
        }
    }

    /// The unmet demands before a node, those nearest to the entry first.
    pub(super) fn unmet_demands_before(&self, to: SopPosition) -> Vec<UnmetDemand> {
        let Some(procedure) = self.procedure(to.sop) else {
            return Vec::new();
        };
        let (mut found, mut seen) = (Vec::new(), vec![to.sop]);
        for node in procedure.dominators.dominators_of(to.node) {
            let at = SopPosition { sop: to.sop, node };
            self.collect_unmet_demands(at, &mut seen, &mut found);
        }
        found
    }

    /// The unmet demands of a node, and of the nodes on every path through its nested procedure.
    fn collect_unmet_demands(
        &self,
        at: SopPosition,
        seen: &mut Vec<u32>,
        found: &mut Vec<UnmetDemand>,
    ) {
        let Some(procedure) = self.procedure(at.sop) else {
            return;
        };
        let node = procedure.node(at.node);
        if node.has_demands() && !self.met_demands.contains(&at) {
            let (slots, tools) = self.unmet_requirements_at(at);
            found.push(UnmetDemand {
                node: node.id.clone(),
                slots,
                tools,
            });
        }
        let Some(inner) = self
            .nested_procedure(at)
            .filter(|inner| !seen.contains(inner))
        else {
            return;
        };
        seen.push(inner);
        let Some(procedure) = self.procedure(inner) else {
            return;
        };
        let nodes = (0..procedure.sop.nodes.len() as u32).map(NodeIx);
        let ends = nodes.filter(|at| procedure.is_terminal(*at));
        for node in procedure.dominators.common_dominators(ends) {
            self.collect_unmet_demands(SopPosition { sop: inner, node }, seen, found);
        }
    }

    /// Records that the demands of the current node are met. They stay met for the rest of the
    /// session.
    pub(super) fn record_met_demands(&mut self) {
        let Some(at) = self.position() else {
            return;
        };
        let (slots, tools) = self.unmet_requirements_at(at);
        if slots.is_empty() && tools.is_empty() && self.has_demands(at) {
            self.met_demands.insert(at);
        }
    }

    fn has_demands(&self, at: SopPosition) -> bool {
        let procedure = self.procedure(at.sop);
        procedure.is_some_and(|it| it.node(at.node).has_demands())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tramline_workflow::sop::{SopEdge, SopNode};

    fn sop(count: u32, edges: &[(u32, u32)]) -> Sop {
        let edge = |(from, to): &(u32, u32)| SopEdge {
            from: NodeIx(*from),
            to: NodeIx(*to),
            condition: None,
            guard: None,
        };
        Sop {
            nodes: vec![SopNode::default(); count as usize],
            edges: edges.iter().map(edge).collect(),
            ..Sop::default()
        }
    }

    fn reaches(sop: &Sop, without: Option<NodeIx>, to: NodeIx) -> bool {
        let mut seen = vec![false; sop.nodes.len()];
        let mut open = vec![sop.entry];
        while let Some(at) = open.pop() {
            if Some(at) == without || std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            let out = sop.edges.iter().filter(|edge| edge.from == at);
            open.extend(out.map(|edge| edge.to));
        }
        seen[to.index()]
    }

    proptest! {
        /// A node dominates another exactly if the other cannot be reached without it.
        #[test]
        fn dominators_are_what_cannot_be_left_out(
            edges in prop::collection::vec((0..8u32, 0..8u32), 0..20),
        ) {
            let sop = sop(8, &edges);
            let dominators = Dominators::of(&sop);
            for to in (0..8).map(NodeIx) {
                let mut expected: Vec<NodeIx> = match reaches(&sop, None, to) {
                    true => (0..8).map(NodeIx).filter(|it| *it != to && !reaches(&sop, Some(*it), to)).collect(),
                    false => Vec::new(),
                };
                let mut found = dominators.dominators_of(to);
                expected.sort_unstable();
                found.sort_unstable();
                prop_assert_eq!(found, expected, "{:?}", to);
            }
        }
    }
}
