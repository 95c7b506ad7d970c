//! What must have been done before a hub is reached.
//!
//! A hub can be reached from anywhere, so the nodes before it would be easy to skip. A move to it
//! therefore needs the demands (`must_call`, required slots) of every node that lies on all paths
//! from the entry to it: its dominators in the drawn graph.

use super::Walk;
use crate::ids::NodeIx;
use crate::journal::Stand;
use crate::sop::{AnyOf, Sop};
use tramline_expr::Str;

/// A node whose demands are not met, and what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// Which node.
    pub node: Str,
    /// The slots that are to be set there.
    pub slots: Vec<Str>,
    /// The tools that are to be called there.
    pub tools: Vec<AnyOf>,
}

/// The immediate dominator of each node: the last one that every path from the entry to it passes.
#[derive(Debug)]
pub(super) struct Dominators {
    entry: NodeIx,
    /// By node; nothing for nodes that no drawn path reaches. The entry has itself.
    immediate: Vec<Option<NodeIx>>,
    /// The nodes by how early a depth-first walk from the entry leaves them last.
    rank: Vec<u32>,
}

impl Dominators {
    /// Finds them by the iteration of Cooper, Harvey and Kennedy over the drawn edges.
    pub(super) fn of(sop: &Sop) -> Self {
        let count = sop.nodes.len();
        let (mut next, mut before) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for edge in &sop.edges {
            next[edge.from.at()].push(edge.to);
            before[edge.to.at()].push(edge.from);
        }
        let order = finished(sop.entry, &next);
        let mut rank = vec![0; count];
        for (at, node) in order.iter().enumerate() {
            rank[node.at()] = at as u32;
        }
        let mut found = Self {
            entry: sop.entry,
            immediate: vec![None; count],
            rank,
        };
        found.immediate[sop.entry.at()] = Some(sop.entry);
        let mut changed = true;
        while changed {
            changed = false;
            for node in order.iter().rev().filter(|node| **node != sop.entry) {
                let known = before[node.at()].iter().copied();
                let known = known.filter(|from| found.immediate[from.at()].is_some());
                let merged = known.reduce(|one, other| found.common(one, other));
                changed |= found.immediate[node.at()] != merged;
                found.immediate[node.at()] = merged;
            }
        }
        found
    }

    /// The last node that all paths to either of two pass.
    fn common(&self, mut one: NodeIx, mut other: NodeIx) -> NodeIx {
        while one != other {
            let (behind, ahead) = match self.rank[one.at()] < self.rank[other.at()] {
                true => (&mut one, other),
                false => (&mut other, one),
            };
            match self.immediate[behind.at()] {
                Some(above) if above != *behind => *behind = above,
                // Only the entry is above itself, and everything is below it.
                _ => *behind = ahead,
            }
        }
        one
    }

    /// The nodes on every path from the entry to a node, the entry first, without the node itself.
    fn before(&self, at: NodeIx) -> Vec<NodeIx> {
        let mut found = Vec::new();
        let mut at = at;
        while let Some(above) = self.immediate[at.at()]
            && at != self.entry
        {
            found.push(above);
            at = above;
        }
        found.reverse();
        found
    }

    /// The nodes on every path from the entry to any of these nodes.
    fn before_all(&self, ends: impl Iterator<Item = NodeIx>) -> Vec<NodeIx> {
        let reached = ends.filter(|end| self.immediate[end.at()].is_some());
        let Some(last) = reached.reduce(|one, other| self.common(one, other)) else {
            return Vec::new();
        };
        let mut found = self.before(last);
        found.push(last);
        found
    }
}

/// The nodes that can be reached, in the order in which a depth-first walk is done with them.
fn finished(entry: NodeIx, next: &[Vec<NodeIx>]) -> Vec<NodeIx> {
    let mut seen = vec![false; next.len()];
    let (mut order, mut open) = (Vec::new(), vec![(entry, 0)]);
    seen[entry.at()] = true;
    while let Some((node, edge)) = open.last_mut() {
        match next[node.at()].get(*edge) {
            Some(to) => {
                *edge += 1;
                if !std::mem::replace(&mut seen[to.at()], true) {
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

impl Walk {
    /// The hubs of the innermost procedure, each with the demands that keep it from being reached.
    pub fn hubs(&self) -> Vec<(Str, Vec<Unmet>)> {
        let (here, sop) = (self.here(), self.frame().sop);
        let all = (0..here.sop.nodes.len() as u32).map(NodeIx);
        let hubs = all.filter(|node| here.node(*node).hub && here.sop.entry != *node);
        hubs.map(|node| {
            let id = here.node(node).id.clone();
            (id, self.unmet_before(Stand { sop, node }))
        })
        .collect()
    }

    /// The demands that lie on every path into one of the procedures inside, by its place: what would
    /// be skipped by beginning there.
    pub fn before_procedure(&self, inner: u32) -> Vec<Unmet> {
        self.before_door(inner, &mut vec![inner])
    }

    fn before_door(&self, inner: u32, seen: &mut Vec<u32>) -> Vec<Unmet> {
        let mut least: Option<Vec<Unmet>> = None;
        for sop in 0..self.procedures.len() as u32 {
            let Some(procedure) = self.procedure(sop) else {
                continue;
            };
            let nodes = (0..procedure.sop.nodes.len() as u32).map(NodeIx);
            let doors: Vec<Stand> = nodes
                .map(|node| Stand { sop, node })
                .filter(|at| self.inner(*at) == Some(inner))
                .collect();
            if doors.is_empty() || (sop != 0 && seen.contains(&sop)) {
                continue;
            }
            seen.push(sop);
            let above = match sop {
                0 => Vec::new(),
                sop => self.before_door(sop, seen),
            };
            for door in doors {
                let mut before = above.clone();
                before.extend(self.unmet_before(door));
                if least.as_ref().is_none_or(|it| before.len() < it.len()) {
                    least = Some(before);
                }
            }
        }
        least.unwrap_or_default()
    }

    /// The demands before a node that were not met in this conversation, those nearest to the entry
    /// first.
    pub(super) fn unmet_before(&self, to: Stand) -> Vec<Unmet> {
        let Some(procedure) = self.procedure(to.sop) else {
            return Vec::new();
        };
        let (mut found, mut seen) = (Vec::new(), vec![to.sop]);
        for node in procedure.dominators.before(to.node) {
            let at = Stand { sop: to.sop, node };
            self.unmet_at(at, &mut seen, &mut found);
        }
        found
    }

    /// The demands of a node, and of those on every path through the procedure inside it.
    fn unmet_at(&self, at: Stand, seen: &mut Vec<u32>, found: &mut Vec<Unmet>) {
        let Some(procedure) = self.procedure(at.sop) else {
            return;
        };
        let node = procedure.node(at.node);
        if node.has_demands() && !self.met.contains(&at) {
            let (slots, tools) = self.wanting_at(at);
            found.push(Unmet {
                node: node.id.clone(),
                slots,
                tools,
            });
        }
        let Some(inner) = self.inner(at).filter(|inner| !seen.contains(inner)) else {
            return;
        };
        seen.push(inner);
        let Some(procedure) = self.procedure(inner) else {
            return;
        };
        let nodes = (0..procedure.sop.nodes.len() as u32).map(NodeIx);
        let ends = nodes.filter(|at| procedure.is_terminal(*at));
        for node in procedure.dominators.before_all(ends) {
            self.unmet_at(Stand { sop: inner, node }, seen, found);
        }
    }

    /// Notes that the demands of the node where the conversation stands are met, once they are. They
    /// stay met for the rest of the conversation.
    pub(super) fn note_met(&mut self) {
        let Some(at) = self.stand() else {
            return;
        };
        let (slots, tools) = self.wanting_at(at);
        if slots.is_empty() && tools.is_empty() && self.has_demands(at) {
            self.met.insert(at);
        }
    }

    fn has_demands(&self, at: Stand) -> bool {
        let procedure = self.procedure(at.sop);
        procedure.is_some_and(|it| it.node(at.node).has_demands())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sop::{Edge, Node};
    use proptest::prelude::*;

    fn sop(count: u32, edges: &[(u32, u32)]) -> Sop {
        let edge = |(from, to): &(u32, u32)| Edge {
            from: NodeIx(*from),
            to: NodeIx(*to),
            condition: None,
            guard: None,
        };
        Sop {
            nodes: vec![Node::default(); count as usize],
            edges: edges.iter().map(edge).collect(),
            ..Sop::default()
        }
    }

    fn reaches(sop: &Sop, without: Option<NodeIx>, to: NodeIx) -> bool {
        let mut seen = vec![false; sop.nodes.len()];
        let mut open = vec![sop.entry];
        while let Some(at) = open.pop() {
            if Some(at) == without || std::mem::replace(&mut seen[at.at()], true) {
                continue;
            }
            let out = sop.edges.iter().filter(|edge| edge.from == at);
            open.extend(out.map(|edge| edge.to));
        }
        seen[to.at()]
    }

    proptest! {
        /// A node is before another exactly if that cannot be reached without it.
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
                let mut found = dominators.before(to);
                expected.sort_unstable();
                found.sort_unstable();
                prop_assert_eq!(found, expected, "{:?}", to);
            }
        }
    }
}
