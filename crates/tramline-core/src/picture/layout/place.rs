//! Places: each item as near as can be to the middle of its neighbours, none upon another.

use super::layers::Layered;

/// The space between two nodes of a layer.
const NODE_GAP: f64 = 34.0;
/// The space beside a passing way.
const WAY_GAP: f64 = 18.0;
/// The space between two layers, where labels have layers of their own and where not.
const LAYER_GAP: (f64, f64) = (20.0, 44.0);
/// How much further apart layers are at most where ways run far to the side.
const SLANT_MAX: f64 = 46.0;
/// How often the places are drawn towards the neighbours, in small pictures and large ones.
const PASSES: (usize, usize) = (60, 12);
/// How many of the last passes look at both sides.
const PASSES_BOTH: usize = 6;
/// From this many items on a picture counts as large.
const LARGE: usize = 4_000;

/// The middle of every item, and how every layer lies.
pub(super) struct Places {
    pub(super) x: Vec<f64>,
    /// For each layer its middle and its height.
    pub(super) layers: Vec<(f64, f64)>,
}

pub(super) fn place(layered: &Layered) -> Places {
    let mut x = vec![0.0; layered.items.len()];
    for layer in &layered.layers {
        let wanted = vec![(0.0, 1.0); layer.len()];
        settle(layered, layer, &wanted, &mut x);
    }
    let passes = if layered.items.len() < LARGE {
        PASSES.0
    } else {
        PASSES.1
    };
    for pass in 0..passes {
        let count = layered.layers.len();
        let sides = (
            pass % 2 == 0 || pass + PASSES_BOTH >= passes,
            pass % 2 == 1 || pass + PASSES_BOTH >= passes,
        );
        if pass % 2 == 0 {
            (0..count).for_each(|at| pull(layered, at, sides, &mut x));
        } else {
            (0..count)
                .rev()
                .for_each(|at| pull(layered, at, sides, &mut x));
        }
    }
    let layers = heights(layered, &x);
    Places { x, layers }
}

/// Draws a layer towards its neighbours: those above, those below, at last both.
fn pull(layered: &Layered, layer: usize, (up, down): (bool, bool), x: &mut [f64]) {
    let items = &layered.layers[layer];
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
    settle(layered, items, &wanted, x);
}

/// Long ways are kept straight before short ones.
fn importance(layered: &Layered, one: usize, other: usize) -> f64 {
    match (layered.items[one].is_node, layered.items[other].is_node) {
        (true, true) => 1.0,
        (false, false) => 8.0,
        (true, false) | (false, true) => 2.0,
    }
}

/// Puts the items of a layer as near as can be to where they are wanted, in their order and with
/// their space: items that would be too near to each other are moved together as one group.
fn settle(layered: &Layered, items: &[usize], wanted: &[(f64, f64)], x: &mut [f64]) {
    struct Group {
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
    let mut groups: Vec<Group> = Vec::new();
    for (&(want, weight), offset) in wanted.iter().zip(&offsets) {
        let mut group = Group {
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

fn distance(layered: &Layered, one: usize, other: usize) -> f64 {
    let [one, other] = [one, other].map(|at| layered.items[at]);
    let gap = match (one.is_node, other.is_node) {
        (true, true) => NODE_GAP,
        (true, false) | (false, true) | (false, false) => WAY_GAP,
    };
    (one.width + other.width) / 2.0 + gap
}

/// The layers from top to bottom, further apart where a way runs far to the side.
fn heights(layered: &Layered, x: &[f64]) -> Vec<(f64, f64)> {
    let has_labels = layered.chains.iter().any(|chain| chain.label.is_some());
    let gap = if has_labels { LAYER_GAP.0 } else { LAYER_GAP.1 };
    let mut layers = Vec::with_capacity(layered.layers.len());
    let mut top = 0.0;
    for items in &layered.layers {
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
