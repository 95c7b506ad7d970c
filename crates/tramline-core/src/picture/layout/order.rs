//! Order within the layers: sweeps by barycentre, down and up, of which the best is kept.

use super::layers::Layered;

/// How often the layers are swept, small pictures and large ones.
const SWEEPS: (usize, usize) = (24, 6);
/// From this many items on a picture counts as large.
const LARGE: usize = 4_000;

pub(super) fn order(layered: &mut Layered) {
    begin(layered);
    let mut places = vec![0usize; layered.items.len()];
    note(layered, &mut places);
    let mut best = layered.layers.clone();
    let mut fewest = crossings(layered, &places);
    let sweeps = if layered.items.len() < LARGE {
        SWEEPS.0
    } else {
        SWEEPS.1
    };
    for sweep in 0..sweeps {
        if fewest == 0 {
            break;
        }
        let count = layered.layers.len();
        if sweep % 2 == 0 {
            (1..count).for_each(|layer| sort(layered, layer, true, &mut places));
        } else {
            (0..count.saturating_sub(1))
                .rev()
                .for_each(|layer| sort(layered, layer, false, &mut places));
        }
        let now = crossings(layered, &places);
        if now < fewest {
            fewest = now;
            best = layered.layers.clone();
        }
    }
    layered.layers = best;
}

/// The order in which a walk from the top comes to the items: neighbours start out together.
fn begin(layered: &mut Layered) {
    let mut seen = vec![false; layered.items.len()];
    let mut layers = vec![Vec::new(); layered.layers.len()];
    let tops: Vec<usize> = layered.layers.iter().flatten().copied().collect();
    let mut work = Vec::new();
    for top in tops {
        work.push(top);
        while let Some(item) = work.pop() {
            if std::mem::replace(&mut seen[item], true) {
                continue;
            }
            layers[layered.items[item].layer].push(item);
            work.extend(layered.below[item].iter().rev());
        }
    }
    layered.layers = layers;
}

fn note(layered: &Layered, places: &mut [usize]) {
    for layer in &layered.layers {
        for (place, &item) in layer.iter().enumerate() {
            places[item] = place;
        }
    }
}

/// Sorts a layer by the mean place of each item's neighbours on one side.
fn sort(layered: &mut Layered, layer: usize, by_above: bool, places: &mut [usize]) {
    let side = if by_above {
        &layered.above
    } else {
        &layered.below
    };
    let mean = |item: usize| {
        let others = &side[item];
        if others.is_empty() {
            return places[item] as f64;
        }
        others.iter().map(|&other| places[other]).sum::<usize>() as f64 / others.len() as f64
    };
    let mut keyed: Vec<(f64, usize)> = layered.layers[layer]
        .iter()
        .map(|&item| (mean(item), item))
        .collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (place, (_, item)) in keyed.iter().enumerate() {
        places[*item] = place;
    }
    layered.layers[layer] = keyed.into_iter().map(|(_, item)| item).collect();
}

/// How many ways cross, all layers together.
fn crossings(layered: &Layered, places: &[usize]) -> usize {
    let pairs = layered.layers.windows(2);
    pairs
        .map(|pair| between(layered, places, &pair[0], pair[1].len()))
        .sum()
}

/// Counts by a tree of sums: for each way, those before it that end further to the right.
fn between(layered: &Layered, places: &[usize], upper: &[usize], lower: usize) -> usize {
    let mut tree = vec![0usize; lower + 1];
    let (mut count, mut so_far) = (0, 0);
    let mut ends = Vec::new();
    for &item in upper {
        ends.clear();
        ends.extend(layered.below[item].iter().map(|&other| places[other] + 1));
        for &end in &ends {
            let (mut at, mut not_right) = (end, 0);
            while at > 0 {
                not_right += tree[at];
                at &= at - 1;
            }
            count += so_far - not_right;
        }
        for &end in &ends {
            let mut at = end;
            while at <= lower {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
            so_far += 1;
        }
    }
    count
}
