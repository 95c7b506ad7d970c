//! Finds the path that a refusal suggests: one that can be followed from the current node.

use super::{Procedure, SopSession, guard};
use std::collections::VecDeque;
use tramline_expr::Str;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::SopPosition;

/// The nodes that match, with a path to one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct SuggestedRoute {
    pub(super) nodes: Vec<Str>,
    pub(super) path: Vec<Str>,
}

impl SopSession {
    /// A path from here to a node of the innermost procedure.
    pub(super) fn path_to(&self, to: NodeIx) -> Vec<Str> {
        let path = self.shortest_allowed_path(&[to]).unwrap_or_default();
        ids(self.current_procedure(), &path)
    }

    /// The matching nodes in the current procedure or, if there are none, in its nested and
    /// enclosing procedures, with a path to the nearest.
    pub(super) fn route(&self, fits: impl Fn(&Procedure) -> Vec<NodeIx>) -> SuggestedRoute {
        let mut outer = self.clone();
        loop {
            if let Some(route) = outer.route_within(&fits) {
                return route;
            }
            if outer.leave_procedure().is_none() {
                return SuggestedRoute::default();
            }
        }
    }

    fn route_within(&self, fits: &impl Fn(&Procedure) -> Vec<NodeIx>) -> Option<SuggestedRoute> {
        let here = self.current_procedure();
        let direct = fits(here);
        if !direct.is_empty() {
            let path = self.shortest_allowed_path(&direct).unwrap_or_default();
            return Some(SuggestedRoute {
                nodes: ids(here, &direct),
                path: ids(here, &path),
            });
        }
        let all = (0..here.sop.nodes.len() as u32).map(NodeIx);
        let doors = all.filter_map(|node| {
            let sop = self.frame().sop;
            let inside = self.procedure(self.nested_procedure(SopPosition { sop, node })?)?;
            let found = fits(inside);
            (!found.is_empty()).then_some((node, inside, found))
        });
        let doors: Vec<(NodeIx, &std::sync::Arc<Procedure>, Vec<NodeIx>)> = doors.collect();
        let nodes: Vec<NodeIx> = doors.iter().map(|(node, ..)| *node).collect();
        let (_, inside, found) = doors.first()?;
        let path = self.shortest_allowed_path(&nodes).unwrap_or_default();
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
        Some(SuggestedRoute {
            nodes: ids(inside, found),
            path: shown,
        })
    }

    /// The shortest path to one of these nodes, from the current node or else from a node that may
    /// be entered from anywhere.
    fn shortest_allowed_path(&self, to: &[NodeIx]) -> Option<Vec<NodeIx>> {
        let here = self.current_procedure();
        let frame = self.frame();
        let at = |node: NodeIx| SopPosition {
            sop: frame.sop,
            node,
        };
        let is_spent = |node: NodeIx| {
            let most = here.node(node).visits_max;
            most.is_some_and(|most| self.visits(at(node)) >= most)
        };
        // The guards of the current node are decided; those of later nodes depend on data that is
        // not known yet.
        let settled = frame.node.map(|at| guard::evaluate_guards(self, at));
        let excluded = |from: NodeIx, node: NodeIx| {
            frame.node == Some(from)
                && settled.as_ref().is_some_and(|it| {
                    !it.evaluated.is_empty()
                        && !it.allowed.is_empty()
                        && !it.allowed.contains(&node)
                })
        };
        let may = |from: NodeIx, node: NodeIx| {
            let is_open = !is_spent(node) && !excluded(from, node);
            is_open && self.demands_skipped_by_edge(from, node).is_empty()
        };
        let from_here = frame.node.into_iter();
        let found = here.shortest(from_here, to, may);
        found.or_else(|| {
            let all = (0..here.sop.nodes.len() as u32).map(NodeIx);
            let open = all.filter(|node| {
                let is_entry = here.sop.entry == *node;
                here.is_enterable_from_anywhere(*node)
                    && !is_spent(*node)
                    && (is_entry || self.unmet_demands_before(at(*node)).is_empty())
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
    /// The shortest path from one of these nodes to one of those, along edges that may be taken.
    fn shortest(
        &self,
        from: impl Iterator<Item = NodeIx>,
        to: &[NodeIx],
        may: impl Fn(NodeIx, NodeIx) -> bool,
    ) -> Option<Vec<NodeIx>> {
        let mut before: Vec<Option<NodeIx>> = vec![None; self.sop.nodes.len()];
        let mut open: VecDeque<NodeIx> = VecDeque::new();
        for start in from {
            before[start.index()] = Some(start);
            open.push_back(start);
        }
        while let Some(at) = open.pop_front() {
            if to.contains(&at) {
                let back = std::iter::successors(Some(at), |at| {
                    before[at.index()].filter(|earlier| earlier != at)
                });
                let mut path: Vec<NodeIx> = back.collect();
                path.reverse();
                return Some(path);
            }
            for edge in self.out_edges(at) {
                if before[edge.to.index()].is_none() && may(at, edge.to) {
                    before[edge.to.index()] = Some(at);
                    open.push_back(edge.to);
                }
            }
        }
        None
    }
}
