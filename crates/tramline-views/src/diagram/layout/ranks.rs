//! Assigns ranks: every edge leads downwards, and each node is below the longest path to it.
//!
//! Edges that close a cycle are reversed during the layout. Where an edge crosses a rank, a dummy
//! item reserves its position; an edge label is a dummy item with a size.

use super::LayoutInput;
use tramline_workflow::cycles;

/// Dummy items for edges that cross ranks; further edges run straight through. Bounds the work for
/// graphs whose edges all span many ranks.
const PASSING_MAX: usize = 40_000;
/// The width in pixels next to a node for an edge to itself.
pub(super) const LOOP_WIDTH: f64 = 30.0;

/// An item with a position in a rank: a node, or a dummy of an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankItem {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) rank: usize,
    pub(super) is_node: bool,
}

/// An edge as a chain of items through the ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgeChain {
    /// Its items from top to bottom, including both end nodes; empty for a self-loop.
    pub(super) items: Vec<usize>,
    /// Whether the edge leads upwards.
    pub(super) is_reversed: bool,
    /// The item of its label.
    pub(super) label: Option<usize>,
}

/// A diagram in ranks. The first items are its nodes.
pub(super) struct RankedDiagram {
    pub(super) items: Vec<RankItem>,
    pub(super) ranks: Vec<Vec<usize>>,
    pub(super) chains: Vec<EdgeChain>,
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
}

pub(super) fn assign_ranks(picture: &LayoutInput) -> RankedDiagram {
    let turned = reversed_edges(picture);
    // Labels have ranks of their own between those of the nodes.
    let step = if picture.edges.iter().any(|link| link.label.is_some()) {
        2
    } else {
        1
    };
    let downwards: Vec<(usize, usize)> = picture
        .edges
        .iter()
        .zip(&turned)
        .map(|(link, &turned)| match turned {
            true => (link.to, link.from),
            false => (link.from, link.to),
        })
        .collect();
    let ranks = ranks(picture.nodes.len(), &downwards, step, picture.is_earliest);
    let mut layered = RankedDiagram {
        items: Vec::new(),
        ranks: vec![Vec::new(); ranks.iter().map(|rank| rank + 1).max().unwrap_or(0)],
        chains: Vec::new(),
        above: Vec::new(),
        below: Vec::new(),
    };
    for (node, &rank) in picture.nodes.iter().zip(&ranks) {
        layered.add_item(node.width, node.height, rank, true);
    }
    let mut left = PASSING_MAX;
    for (at, link) in picture.edges.iter().enumerate() {
        let label = link.label;
        if link.from == link.to {
            let room = LOOP_WIDTH + label.map_or(0.0, |(width, _)| width);
            // The same space on both sides keeps the node centred.
            layered.items[link.from].width += 2.0 * room;
            layered.chains.push(EdgeChain::default());
        } else {
            layered.add_edge(downwards[at], turned[at], label, &mut left);
        }
    }
    layered
}

impl RankedDiagram {
    fn add_item(&mut self, width: f64, height: f64, layer: usize, is_node: bool) -> usize {
        let at = self.items.len();
        self.items.push(RankItem {
            width,
            height,
            rank: layer,
            is_node,
        });
        self.ranks[layer].push(at);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        at
    }

    /// Adds an edge from one node down to another.
    fn add_edge(
        &mut self,
        (from, to): (usize, usize),
        turned: bool,
        label: Option<(f64, f64)>,
        left: &mut usize,
    ) {
        let (first, last) = (self.items[from].rank, self.items[to].rank);
        let mut chain = EdgeChain {
            items: vec![from],
            is_reversed: turned,
            label: None,
        };
        let passed = last - first - 1;
        // The label is close to the node that picks the edge.
        let at_label = if turned { last - 1 } else { first + 1 };
        if passed <= *left {
            *left -= passed;
            for layer in first + 1..last {
                let size = label.filter(|_| layer == at_label);
                let (width, height) = size.unwrap_or((0.0, 0.0));
                let item = self.add_item(width, height, layer, false);
                if size.is_some() {
                    chain.label = Some(item);
                }
                chain.items.push(item);
            }
        }
        chain.items.push(to);
        for pair in chain.items.windows(2) {
            if self.items[pair[0]].rank + 1 == self.items[pair[1]].rank {
                self.below[pair[0]].push(pair[1]);
                self.above[pair[1]].push(pair[0]);
            }
        }
        self.chains.push(chain);
    }
}

/// Which edges close a cycle.
fn reversed_edges(picture: &LayoutInput) -> Vec<bool> {
    let mut outs = vec![Vec::new(); picture.nodes.len()];
    for (at, link) in picture.edges.iter().enumerate() {
        if link.from != link.to {
            outs[link.from].push((link.to, at));
        }
    }
    let mut turned = vec![false; picture.edges.len()];
    let entries = (0..picture.nodes.len()).filter(|&at| picture.nodes[at].is_start);
    cycles::closing_edges(&outs, entries, |edge, _| turned[edge] = true);
    turned
}

/// The rank of each node: below all its predecessors, and as close to them as possible.
fn ranks(nodes: usize, links: &[(usize, usize)], step: usize, is_earliest: bool) -> Vec<usize> {
    let mut outs = vec![Vec::new(); nodes];
    let mut waiting = vec![0usize; nodes];
    for &(from, to) in links.iter().filter(|(from, to)| from != to) {
        outs[from].push(to);
        waiting[to] += 1;
    }
    let first: Vec<usize> = (0..nodes).filter(|&at| waiting[at] == 0).collect();
    let mut ranks = vec![0; nodes];
    let mut ready = first.clone();
    while let Some(at) = ready.pop() {
        for &to in &outs[at] {
            ranks[to] = ranks[to].max(ranks[at] + step);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    if is_earliest {
        return ranks;
    }
    // Nodes without predecessors are moved down, close to their successors.
    for at in first {
        if let Some(nearest) = outs[at].iter().map(|&to| ranks[to]).min() {
            ranks[at] = nearest - step;
        }
    }
    ranks
}
