//! Orders the items within ranks: barycentre sweeps down and up, keeping the best result.

use super::ranks::RankedDiagram;

/// The number of sweeps, for small and large diagrams.
const SWEEPS: (usize, usize) = (24, 6);
/// Items from which a diagram counts as large.
const LARGE: usize = 4_000;

pub(super) fn reduce_crossings(layered: &mut RankedDiagram) {
    initial_order(layered);
    let mut places = vec![0usize; layered.items.len()];
    record_positions(layered, &mut places);
    let mut best = layered.ranks.clone();
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
        let count = layered.ranks.len();
        if sweep % 2 == 0 {
            (1..count).for_each(|layer| sort_rank(layered, layer, true, &mut places));
        } else {
            (0..count.saturating_sub(1))
                .rev()
                .for_each(|layer| sort_rank(layered, layer, false, &mut places));
        }
        let now = crossings(layered, &places);
        if now < fewest {
            fewest = now;
            best = layered.ranks.clone();
        }
    }
    layered.ranks = best;
}

/// The initial order: depth-first from the top, so that neighbours start out together.
fn initial_order(layered: &mut RankedDiagram) {
    let mut seen = vec![false; layered.items.len()];
    let mut layers = vec![Vec::new(); layered.ranks.len()];
    let tops: Vec<usize> = layered.ranks.iter().flatten().copied().collect();
    let mut work = Vec::new();
    for top in tops {
        work.push(top);
        while let Some(item) = work.pop() {
            if std::mem::replace(&mut seen[item], true) {
                continue;
            }
            layers[layered.items[item].rank].push(item);
            work.extend(layered.below[item].iter().rev());
        }
    }
    layered.ranks = layers;
}

fn record_positions(layered: &RankedDiagram, places: &mut [usize]) {
    for layer in &layered.ranks {
        for (place, &item) in layer.iter().enumerate() {
            places[item] = place;
        }
    }
}

/// Sorts a rank by the mean position of each item's neighbours on one side.
fn sort_rank(layered: &mut RankedDiagram, layer: usize, by_above: bool, places: &mut [usize]) {
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
    let mut keyed: Vec<(f64, usize)> = layered.ranks[layer]
        .iter()
        .map(|&item| (mean(item), item))
        .collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (place, (_, item)) in keyed.iter().enumerate() {
        places[*item] = place;
    }
    layered.ranks[layer] = keyed.into_iter().map(|(_, item)| item).collect();
}

/// The number of edge crossings in all ranks.
fn crossings(layered: &RankedDiagram, places: &[usize]) -> usize {
    let pairs = layered.ranks.windows(2);
    pairs
        .map(|pair| crossings_between(layered, places, &pair[0], pair[1].len()))
        .sum()
}

/// Counts crossings with a Fenwick tree: for each edge, the earlier edges that end further to the
/// right.
fn crossings_between(
    layered: &RankedDiagram,
    places: &[usize],
    upper: &[usize],
    lower: usize,
) -> usize {
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
