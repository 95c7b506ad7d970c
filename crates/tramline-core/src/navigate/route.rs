//! The path that a refusal names: one that can be walked from where the conversation stands.

use super::{Procedure, Walk, guard};
use crate::ids::NodeIx;
use crate::journal::Stand;
use std::collections::VecDeque;
use tramline_expr::Str;

/// A path to one of the nodes that were asked for, with all of those nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    pub(super) nodes: Vec<Str>,
    pub(super) path: Vec<Str>,
}

impl Walk {
    /// The path to a node of the innermost procedure that can be walked from here.
    pub(super) fn path_to(&self, to: NodeIx) -> Vec<Str> {
        let path = self.walkable(&[to]).unwrap_or_default();
        ids(self.here(), &path)
    }

    /// The nodes that fit, in the procedure where the conversation stands or, if none does, in those
    /// that its nodes lead into or that it is inside of; and the path to the nearest.
    pub(super) fn route(&self, fits: impl Fn(&Procedure) -> Vec<NodeIx>) -> Route {
        let mut outer = self.clone();
        loop {
            if let Some(route) = outer.route_within(&fits) {
                return route;
            }
            if outer.leave().is_none() {
                return Route::default();
            }
        }
    }

    fn route_within(&self, fits: &impl Fn(&Procedure) -> Vec<NodeIx>) -> Option<Route> {
        let here = self.here();
        let direct = fits(here);
        if !direct.is_empty() {
            let path = self.walkable(&direct).unwrap_or_default();
            return Some(Route {
                nodes: ids(here, &direct),
                path: ids(here, &path),
            });
        }
        let all = (0..here.sop.nodes.len() as u32).map(NodeIx);
        let doors = all.filter_map(|node| {
            let sop = self.frame().sop;
            let inside = self.procedure(self.inner(Stand { sop, node })?)?;
            let found = fits(inside);
            (!found.is_empty()).then_some((node, inside, found))
        });
        let doors: Vec<(NodeIx, &std::sync::Arc<Procedure>, Vec<NodeIx>)> = doors.collect();
        let nodes: Vec<NodeIx> = doors.iter().map(|(node, ..)| *node).collect();
        let (_, inside, found) = doors.first()?;
        let path = self.walkable(&nodes).unwrap_or_default();
        let (door, inside, found) = doors
            .iter()
            .find(|(node, ..)| path.last() == Some(node))
            .map_or((None, inside, found), |(node, inside, found)| {
                (Some(node), inside, found)
            });
        let mut shown = ids(here, &path);
        if door.is_some() {
            let rest = inside.shortest([inside.sop.entry].into_iter(), found, |_, _| true);
            shown.extend(ids(inside, &rest.unwrap_or_default()));
        }
        Some(Route {
            nodes: ids(inside, found),
            path: shown,
        })
    }

    /// The shortest path from here to one of these, or from a node that can be gone to from
    /// anywhere, and may be now.
    fn walkable(&self, to: &[NodeIx]) -> Option<Vec<NodeIx>> {
        let here = self.here();
        let frame = self.frame();
        let at = |node: NodeIx| Stand {
            sop: frame.sop,
            node,
        };
        let is_spent = |node: NodeIx| {
            let most = here.node(node).visits_max;
            most.is_some_and(|most| self.visits(at(node)) >= most)
        };
        // What the guards of the node where it stands exclude is known; those of later nodes are
        // about what will be known then.
        let settled = frame.at.map(|at| guard::settle(self, at));
        let excluded = |from: NodeIx, node: NodeIx| {
            frame.at == Some(from)
                && settled.as_ref().is_some_and(|it| {
                    !it.weighed.is_empty() && !it.open.is_empty() && !it.open.contains(&node)
                })
        };
        let may = |from: NodeIx, node: NodeIx| !is_spent(node) && !excluded(from, node);
        let from_here = frame.at.into_iter();
        let found = here.shortest(from_here, to, may);
        found.or_else(|| {
            let all = (0..here.sop.nodes.len() as u32).map(NodeIx);
            let open = all.filter(|node| {
                let is_entry = here.sop.entry == *node;
                here.is_anywhere(*node)
                    && !is_spent(*node)
                    && (is_entry || self.unmet_before(at(*node)).is_empty())
            });
            here.shortest(open, to, may)
        })
    }
}

fn ids(procedure: &Procedure, nodes: &[NodeIx]) -> Vec<Str> {
    let ids = nodes.iter().map(|at| procedure.node(*at).id.clone());
    ids.collect()
}

impl Procedure {
    /// The shortest path along edges that may be taken, from one of these nodes to one of those.
    fn shortest(
        &self,
        from: impl Iterator<Item = NodeIx>,
        to: &[NodeIx],
        may: impl Fn(NodeIx, NodeIx) -> bool,
    ) -> Option<Vec<NodeIx>> {
        let mut before: Vec<Option<NodeIx>> = vec![None; self.sop.nodes.len()];
        let mut open: VecDeque<NodeIx> = VecDeque::new();
        for start in from {
            before[start.at()] = Some(start);
            open.push_back(start);
        }
        while let Some(at) = open.pop_front() {
            if to.contains(&at) {
                let back = std::iter::successors(Some(at), |at| {
                    before[at.at()].filter(|earlier| earlier != at)
                });
                let mut path: Vec<NodeIx> = back.collect();
                path.reverse();
                return Some(path);
            }
            for edge in self.out(at) {
                if before[edge.to.at()].is_none() && may(at, edge.to) {
                    before[edge.to.at()] = Some(at);
                    open.push_back(edge.to);
                }
            }
        }
        None
    }
}
