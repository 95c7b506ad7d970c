//! Computes coordinates: each item as close as possible to the centre of its neighbours, without
//! overlaps.

use super::ranks::RankedDiagram;

/// The space between two nodes of a rank, in pixels.
const NODE_GAP: f64 = 34.0;
/// The space next to a crossing edge, in pixels.
const EDGE_GAP: f64 = 18.0;
/// The space between two ranks in pixels, with and without ranks for labels.
const LAYER_GAP: (f64, f64) = (20.0, 44.0);
/// The extra space between ranks with strongly slanted edges, in pixels.
const SLANT_MAX: f64 = 46.0;
/// The number of passes that move items towards their neighbours, for small and large diagrams.
const PASSES: (usize, usize) = (60, 12);
/// The number of final passes that consider both sides.
const PASSES_BOTH: usize = 6;
/// Items from which a diagram counts as large.
const LARGE: usize = 4_000;

/// The horizontal centre of every item, and the vertical extent of every rank.
pub(super) struct Positions {
    pub(super) x: Vec<f64>,
    /// The centre and the height of each rank.
    pub(super) ranks: Vec<(f64, f64)>,
}

pub(super) fn assign_positions(layered: &RankedDiagram) -> Positions {
    let mut x = vec![0.0; layered.items.len()];
    for layer in &layered.ranks {
        let wanted = vec![(0.0, 1.0); layer.len()];
        place_rank(layered, layer, &wanted, &mut x);
    }
    let passes = if layered.items.len() < LARGE {
        PASSES.0
    } else {
        PASSES.1
    };
    for pass in 0..passes {
        let count = layered.ranks.len();
        let sides = (
            pass % 2 == 0 || pass + PASSES_BOTH >= passes,
            pass % 2 == 1 || pass + PASSES_BOTH >= passes,
        );
        if pass % 2 == 0 {
            (0..count).for_each(|at| pull_towards_neighbours(layered, at, sides, &mut x));
        } else {
            (0..count)
                .rev()
                .for_each(|at| pull_towards_neighbours(layered, at, sides, &mut x));
        }
    }
    let layers = rank_extents(layered, &x);
    Positions { x, ranks: layers }
}

/// Moves the items of a rank towards their neighbours: above, below, and finally both.
fn pull_towards_neighbours(
    layered: &RankedDiagram,
    layer: usize,
    (up, down): (bool, bool),
    x: &mut [f64],
) {
    let items = &layered.ranks[layer];
    let wanted: Vec<(f64, f64)> = items
        .iter()
        .map(|&item| {
            let above = up.then_some(&layered.above[item]);
            let below = down.then_some(&layered.below[item]);
            let others = above.into_iter().chain(below).flatten();
            let (mut sum, mut weight) = (0.0, 0.0);
            for &other in others {
                let share = importance(layered, item, other);
                sum += share * x[other];
                weight += share;
            }
            if weight > 0.0 {
                (sum / weight, weight)
            } else {
                (x[item], 0.1)
            }
        })
        .collect();
    place_rank(layered, items, &wanted, x);
}

/// Long edges are kept straight before short ones.
fn importance(layered: &RankedDiagram, one: usize, other: usize) -> f64 {
    match (layered.items[one].is_node, layered.items[other].is_node) {
        (true, true) => 1.0,
        (false, false) => 8.0,
        (true, false) | (false, true) => 2.0,
    }
}

/// Places the items of a rank as close as possible to their targets, in order and with their
/// spacing: items that would overlap are moved together as one group.
fn place_rank(layered: &RankedDiagram, items: &[usize], wanted: &[(f64, f64)], x: &mut [f64]) {
    struct ItemGroup {
        sum: f64,
        weight: f64,
        count: usize,
    }
    let mut offsets = Vec::with_capacity(items.len());
    let mut offset = 0.0;
    for (at, &item) in items.iter().enumerate() {
        if at > 0 {
            offset += distance(layered, items[at - 1], item);
        }
        offsets.push(offset);
    }
    let mut groups: Vec<ItemGroup> = Vec::new();
    for (&(want, weight), offset) in wanted.iter().zip(&offsets) {
        let mut group = ItemGroup {
            sum: (want - offset) * weight,
            weight,
            count: 1,
        };
        while let Some(last) = groups.last()
            && last.sum / last.weight >= group.sum / group.weight
        {
            group.sum += last.sum;
            group.weight += last.weight;
            group.count += last.count;
            groups.pop();
        }
        groups.push(group);
    }
    let mut at = 0;
    for group in groups {
        for _ in 0..group.count {
            x[items[at]] = group.sum / group.weight + offsets[at];
            at += 1;
        }
    }
}

fn distance(layered: &RankedDiagram, one: usize, other: usize) -> f64 {
    let [one, other] = [one, other].map(|at| layered.items[at]);
    let gap = match (one.is_node, other.is_node) {
        (true, true) => NODE_GAP,
        (true, false) | (false, true) | (false, false) => EDGE_GAP,
    };
    (one.width + other.width) / 2.0 + gap
}

/// The vertical positions of the ranks, further apart where an edge is strongly slanted.
fn rank_extents(layered: &RankedDiagram, x: &[f64]) -> Vec<(f64, f64)> {
    let has_labels = layered.chains.iter().any(|chain| chain.label.is_some());
    let gap = if has_labels { LAYER_GAP.0 } else { LAYER_GAP.1 };
    let mut layers = Vec::with_capacity(layered.ranks.len());
    let mut top = 0.0;
    for items in &layered.ranks {
        let tallest = items.iter().map(|&item| layered.items[item].height);
        let height = tallest.fold(0.0, f64::max);
        layers.push((top + height / 2.0, height));
        let slant = items
            .iter()
            .flat_map(|&item| layered.below[item].iter().map(move |&to| (item, to)))
            .map(|(item, to)| (x[item] - x[to]).abs())
            .fold(0.0, f64::max);
        top += height + gap + (slant * 0.08).min(SLANT_MAX);
    }
    layers
}
