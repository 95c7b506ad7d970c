//! Into layers: every way leads downwards, over as many layers as its longest detour.
//!
//! Ways that close a cycle are turned round for the time being. Where a way passes a layer, an
//! item without a node keeps a place for it; a label is such an item with a size.

use super::measure;
use crate::cycles;
use crate::picture::{Kind, Picture};

/// More places for passing ways than this are not kept; what is left runs straight through. It
/// bounds the work for graphs whose ways all span many layers.
const PASSING_MAX: usize = 40_000;
/// The room beside a node for a way from it to itself.
pub(super) const LOOP_WIDTH: f64 = 30.0;

/// Something with a place in a layer: a node, or where a way passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) layer: usize,
    pub(super) is_node: bool,
}

/// One way as it runs through the layers.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    /// Its items from top to bottom, the nodes at both ends among them; empty for a loop.
    pub(super) items: Vec<usize>,
    /// Whether it leads upwards.
    pub(super) turned: bool,
    /// The item that is its label.
    pub(super) label: Option<usize>,
}

/// A picture in layers. The first items are its nodes.
pub(super) struct Layered {
    pub(super) items: Vec<Item>,
    pub(super) layers: Vec<Vec<usize>>,
    pub(super) chains: Vec<Chain>,
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
}

pub(super) fn into_layers(picture: &Picture) -> Layered {
    let turned = turned(picture);
    // Labels stand in layers of their own, between those of the nodes.
    let step = if picture.links.iter().any(|link| link.label.is_some()) {
        2
    } else {
        1
    };
    let downwards: Vec<(usize, usize)> = picture
        .links
        .iter()
        .zip(&turned)
        .map(|(link, &turned)| match turned {
            true => (link.to, link.from),
            false => (link.from, link.to),
        })
        .collect();
    let ranks = ranks(picture.shapes.len(), &downwards, step);
    let mut layered = Layered {
        items: Vec::new(),
        layers: vec![Vec::new(); ranks.iter().map(|rank| rank + 1).max().unwrap_or(0)],
        chains: Vec::new(),
        above: Vec::new(),
        below: Vec::new(),
    };
    for (shape, &rank) in picture.shapes.iter().zip(&ranks) {
        let (width, height) = measure::size(shape);
        layered.add(width, height, rank, true);
    }
    let mut left = PASSING_MAX;
    for (at, link) in picture.links.iter().enumerate() {
        let label = link.label.as_deref().map(measure::label);
        if link.from == link.to {
            let room = LOOP_WIDTH + label.map_or(0.0, |(width, _)| width);
            // Room on both sides keeps the node in the middle of its place.
            layered.items[link.from].width += 2.0 * room;
            layered.chains.push(Chain::default());
        } else {
            layered.pass(downwards[at], turned[at], label, &mut left);
        }
    }
    layered
}

impl Layered {
    fn add(&mut self, width: f64, height: f64, layer: usize, is_node: bool) -> usize {
        let at = self.items.len();
        self.items.push(Item {
            width,
            height,
            layer,
            is_node,
        });
        self.layers[layer].push(at);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        at
    }

    /// Leads a way from one node down to another.
    fn pass(
        &mut self,
        (from, to): (usize, usize),
        turned: bool,
        label: Option<(f64, f64)>,
        left: &mut usize,
    ) {
        let (first, last) = (self.items[from].layer, self.items[to].layer);
        let mut chain = Chain {
            items: vec![from],
            turned,
            label: None,
        };
        let passed = last - first - 1;
        // The label stands close to where the way is chosen.
        let at_label = if turned { last - 1 } else { first + 1 };
        if passed <= *left {
            *left -= passed;
            for layer in first + 1..last {
                let size = label.filter(|_| layer == at_label);
                let (width, height) = size.unwrap_or((0.0, 0.0));
                let item = self.add(width, height, layer, false);
                if size.is_some() {
                    chain.label = Some(item);
                }
                chain.items.push(item);
            }
        }
        chain.items.push(to);
        for pair in chain.items.windows(2) {
            if self.items[pair[0]].layer + 1 == self.items[pair[1]].layer {
                self.below[pair[0]].push(pair[1]);
                self.above[pair[1]].push(pair[0]);
            }
        }
        self.chains.push(chain);
    }
}

/// Which ways close a cycle.
fn turned(picture: &Picture) -> Vec<bool> {
    let mut outs = vec![Vec::new(); picture.shapes.len()];
    for (at, link) in picture.links.iter().enumerate() {
        if link.from != link.to {
            outs[link.from].push((link.to, at));
        }
    }
    let mut turned = vec![false; picture.links.len()];
    let entries = (0..picture.shapes.len()).filter(|&at| picture.shapes[at].kind == Kind::Entry);
    cycles::closing(&outs, entries, |edge, _| turned[edge] = true);
    turned
}

/// The layer of each node: below all that lead to it, and as near to them as can be.
fn ranks(nodes: usize, links: &[(usize, usize)], step: usize) -> Vec<usize> {
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
    // What nothing leads to is not pulled to the top, far from what it leads to.
    for at in first {
        if let Some(nearest) = outs[at].iter().map(|&to| ranks[to]).min() {
            ranks[at] = nearest - step;
        }
    }
    ranks
}
