//! Where edges into and out of a subgraph lead: to its first node, and from its last one.

use std::collections::{HashMap, HashSet};
use tramline_syntax::mermaid::Flowchart;
use tramline_workflow::text::display_name;

/// Nodes that a message names.
const NAMED_MAX: usize = 3;

/// Which end of a subgraph an edge is drawn to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum GroupSide {
    /// Edges into it.
    First,
    /// Edges out of it.
    Last,
}

/// The ends of the subgraphs of a chart, found once each.
#[derive(Default)]
pub(super) struct GroupEnds(HashMap<(usize, GroupSide), Result<usize, String>>);

impl GroupEnds {
    /// The node at one side of the subgraph that this vertex stands for, or why there is not exactly one.
    pub(super) fn node(
        &mut self,
        chart: &Flowchart,
        node_of: &[Option<usize>],
        vertex: usize,
        side: GroupSide,
    ) -> Result<usize, String> {
        let known = self.0.entry((vertex, side));
        let found = known.or_insert_with(|| find(chart, node_of, vertex, side));
        found.clone()
    }
}

fn find(
    chart: &Flowchart,
    node_of: &[Option<usize>],
    vertex: usize,
    side: GroupSide,
) -> Result<usize, String> {
    let id = &chart.vertices[vertex].id;
    let group = chart
        .subgraphs
        .iter()
        .position(|group| group.id.as_ref() == Some(id));
    let shown = display_name(id);
    let Some(group) = group else {
        return Err(format!("an edge from or to the subgraph `{shown}`"));
    };
    let inside = |vertex: usize| {
        let first = chart.vertices[vertex].subgraph;
        let mut around = std::iter::successors(first, |at| chart.subgraphs[*at].parent);
        let is_inside = around
            .by_ref()
            .take(chart.subgraphs.len())
            .any(|at| at == group);
        is_inside && node_of[vertex].is_some()
    };
    let members: Vec<usize> = (0..chart.vertices.len()).filter(|at| inside(*at)).collect();
    let among: HashSet<usize> = members.iter().copied().collect();
    let inner = chart.links.iter().filter(|link| {
        link.from != link.to && among.contains(&link.from) && among.contains(&link.to)
    });
    let passed: HashSet<usize> = inner
        .map(|link| match side {
            GroupSide::First => link.to,
            GroupSide::Last => link.from,
        })
        .collect();
    let ends: Vec<usize> = members
        .into_iter()
        .filter(|at| !passed.contains(at))
        .collect();
    let which = match side {
        GroupSide::First => "into the subgraph",
        GroupSide::Last => "out of the subgraph",
    };
    match ends.as_slice() {
        [only] => node_of[*only].ok_or_else(|| format!("an edge {which} `{shown}`")),
        [] => Err(format!(
            "an edge {which} `{shown}`, in which no node is the end of all paths"
        )),
        several => {
            let names = several.iter().take(NAMED_MAX);
            let names: Vec<_> = names
                .map(|at| format!("`{}`", display_name(&chart.vertices[*at].id)))
                .collect();
            let more = if several.len() > NAMED_MAX {
                " and others"
            } else {
                ""
            };
            Err(format!(
                "an edge {which} `{shown}` could mean {}{more}",
                names.join(" or ")
            ))
        }
    }
}
