//! Plans that may be meant: those of the nearest precedents and their neighbours, those of the tools
//! that were found, and what the wish's clauses say one after the other.

use super::scene::{Place, Scene};
use std::collections::BTreeSet;

/// So many tools are tried in and at the end of other plans.
const TRIED: usize = 6;
/// So many past plans are varied.
const VARIED: usize = 5;
/// So many tools are put together without a past plan.
const COMBINED: usize = 7;
/// Longer plans are given by nobody's words.
const LENGTH_MAX: usize = 16;

/// All plans that are weighed, as tools one after the other.
pub(super) fn all(scene: &Scene<'_>, by_clauses: &[Place]) -> Vec<Vec<Place>> {
    let mut all: BTreeSet<Vec<Place>> = BTreeSet::new();
    let best = scene.best(COMBINED);
    let tried = &best[..best.len().min(TRIED)];
    for plan in shares(scene).iter().take(VARIED) {
        vary(&plan.0, tried, &mut all);
    }
    all.extend(scene.voters.iter().map(|voter| voter.tools.clone()));
    // Past plans say which tools go together; without them all of these might.
    match scene.voters.is_empty() {
        true => combine(&best, true, &mut all),
        false => combine(tried, false, &mut all),
    }
    if !by_clauses.is_empty() {
        all.insert(by_clauses.to_vec());
    }
    all.retain(|plan| plan.len() <= LENGTH_MAX);
    all.into_iter().collect()
}

/// The plans of precedents with their shares of the votes, most first.
pub(super) fn shares(scene: &Scene<'_>) -> Vec<(Vec<Place>, f64)> {
    let mut found: Vec<(Vec<Place>, f64)> = Vec::new();
    for voter in &scene.voters {
        match found.iter_mut().find(|(plan, _)| *plan == voter.tools) {
            Some((_, share)) => *share += voter.share,
            None => found.push((voter.tools.clone(), voter.share)),
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

/// A plan with one tool less, one more, another one, or two in the other order.
fn vary(plan: &[Place], tried: &[Place], all: &mut BTreeSet<Vec<Place>>) {
    for at in 0..plan.len() {
        let mut less = plan.to_vec();
        less.remove(at);
        if !less.is_empty() {
            all.insert(less);
        }
        if at + 1 < plan.len() {
            let mut swapped = plan.to_vec();
            swapped.swap(at, at + 1);
            all.insert(swapped);
        }
    }
    for tool in tried.iter().filter(|tool| !plan.contains(tool)) {
        for at in 0..=plan.len() {
            let mut more = plan.to_vec();
            more.insert(at, *tool);
            all.insert(more);
            if at < plan.len() {
                let mut other = plan.to_vec();
                other[at] = *tool;
                all.insert(other);
            }
        }
    }
}

/// One, two and, where nothing is known of the past, three tools.
fn combine(best: &[Place], deep: bool, all: &mut BTreeSet<Vec<Place>>) {
    for one in best {
        all.insert(vec![*one]);
        for two in best.iter().filter(|two| *two != one) {
            all.insert(vec![*one, *two]);
            let third = best.iter().filter(|_| deep);
            for three in third.filter(|three| *three != one && *three != two) {
                all.insert(vec![*one, *two, *three]);
            }
        }
    }
}
