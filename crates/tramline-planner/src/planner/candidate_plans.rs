//! Candidate plans: those of the nearest precedents and their variations, combinations of the tools that were found,
//! and the clauses of the request in order.

use super::context::{PlanContext, ToolIx};
use std::collections::BTreeSet;

/// Number of tools tried in variations of past plans and in combinations.
const VARIATION_TOOLS_MAX: usize = 6;
/// Number of past plans that are varied.
const VARIED_PLANS_MAX: usize = 5;
/// Number of tools that are combined when no precedent votes.
const COMBINED_TOOLS_MAX: usize = 7;
/// Longest candidate plan, in tools. No request spells out a longer one.
const PLAN_TOOLS_MAX: usize = 16;

/// All candidate plans, as sequences of tools.
pub(super) fn candidate_plans(scene: &PlanContext<'_>, by_clauses: &[ToolIx]) -> Vec<Vec<ToolIx>> {
    let mut all: BTreeSet<Vec<ToolIx>> = BTreeSet::new();
    let best = scene.best(COMBINED_TOOLS_MAX);
    let tried = &best[..best.len().min(VARIATION_TOOLS_MAX)];
    for plan in vote_shares(scene).iter().take(VARIED_PLANS_MAX) {
        add_variations(&plan.0, tried, &mut all);
    }
    all.extend(scene.voters.iter().map(|voter| voter.tools.clone()));
    // Past plans show which tools go together. Without them any combination is possible.
    match scene.voters.is_empty() {
        true => add_combinations(&best, true, &mut all),
        false => add_combinations(tried, false, &mut all),
    }
    if !by_clauses.is_empty() {
        all.insert(by_clauses.to_vec());
    }
    all.retain(|plan| plan.len() <= PLAN_TOOLS_MAX);
    all.into_iter().collect()
}

/// The precedents' plans with their shares of the votes, largest first.
pub(super) fn vote_shares(scene: &PlanContext<'_>) -> Vec<(Vec<ToolIx>, f64)> {
    let mut found: Vec<(Vec<ToolIx>, f64)> = Vec::new();
    for voter in &scene.voters {
        match found.iter_mut().find(|(plan, _)| *plan == voter.tools) {
            Some((_, share)) => *share += voter.share,
            None => found.push((voter.tools.clone(), voter.share)),
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

/// Adds the plan with one tool removed, added or replaced, or with two neighbours swapped.
fn add_variations(plan: &[ToolIx], tried: &[ToolIx], all: &mut BTreeSet<Vec<ToolIx>>) {
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

/// Adds sequences of one and two tools, and of three if no precedent votes.
fn add_combinations(best: &[ToolIx], deep: bool, all: &mut BTreeSet<Vec<ToolIx>>) {
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
