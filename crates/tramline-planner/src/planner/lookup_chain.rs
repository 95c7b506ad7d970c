//! Replaces the top-ranked plan by a chain of two tools where one tool needs an id that another can look up.
//!
//! Without precedents, the weights prefer one tool to two. That is wrong if a tool needs an id that the request does
//! not contain: then a tool that provides it must come first. That is either a tool that finds such items, or the other
//! one of two hits with about equal scores that each cover different words of the request.

use super::context::{CandidateTool, PlanContext, ToolIx};
use super::features::{ScoredPlan, calibrate};
use super::literals::{self, LiteralKind};
use super::{PlanInput, text};

/// A plan with at least this confidence is not replaced.
const CONFIDENCE_MIN: f64 = 0.3;
/// Lowest score of the second hit relative to the best one.
const SECOND_HIT_MIN: f64 = 0.7;
/// Lowest share of a hit's matched words that the other hit does not match.
const EXCLUSIVE_MIN: f64 = 0.5;

/// The chain to use instead of the first plan, if it is among the scored plans. If precedents vote, their plans already
/// show which tools go together.
pub(super) fn find_chain(
    ask: &PlanInput<'_>,
    scene: &PlanContext<'_>,
    weighed: &[ScoredPlan],
) -> Option<Vec<ToolIx>> {
    let picked = weighed.first().filter(|_| scene.voters.is_empty())?;
    let known = |tools: &Vec<ToolIx>| weighed.iter().any(|one| one.tools == *tools);
    if names_an_id(ask) {
        return None;
    }
    with_lookup(scene, picked, weighed).or_else(|| {
        let unsure = picked.tools.len() == 1 && calibrate(picked.share, scene) < CONFIDENCE_MIN;
        top_two(scene).filter(|tools| unsure && known(tools))
    })
}

/// The plan preceded by a tool that finds what its first tool needs.
fn with_lookup(
    scene: &PlanContext<'_>,
    picked: &ScoredPlan,
    weighed: &[ScoredPlan],
) -> Option<Vec<ToolIx>> {
    let first = scene.candidate(*picked.tools.first()?);
    if !first.needs_id {
        return None;
    }
    let leads = |one: &&ScoredPlan| {
        one.tools.get(1..) == Some(&picked.tools[..])
            && can_look_up(scene.candidate(one.tools[0]), first)
    };
    let led = weighed.iter().find(leads)?;
    Some(led.tools.clone())
}

/// Whether the request, its context or a completed task may contain the id.
fn names_an_id(ask: &PlanInput<'_>) -> bool {
    let is_number = |literal: &literals::Literal| literal.kind == LiteralKind::Integer;
    ask.context.is_some()
        || !ask.completed.is_empty()
        || literals::parse_literals(ask.request).iter().any(is_number)
}

/// Whether one tool finds, without an id, the items the other one needs.
fn can_look_up(one: &CandidateTool, other: &CandidateTool) -> bool {
    let says = |word: &&String| !text::is_verb(word);
    let mut names = one.name.iter().filter(says);
    one.stage == 0 && !one.needs_id && names.any(|word| other.name.contains(word))
}

/// The two best hits, if both seem to be meant: the one without an id first.
fn top_two(scene: &PlanContext<'_>) -> Option<Vec<ToolIx>> {
    let is_at =
        |rank: usize| move |seen: &CandidateTool| seen.search_score > 0.0 && seen.rank == rank;
    let at = |rank: usize| scene.tools.iter().position(is_at(rank));
    let (best, second) = (at(0)?, at(1)?);
    let (one, other) = (&scene.tools[best], &scene.tools[second]);
    let own = exclusive_share(scene, one, other).min(exclusive_share(scene, other, one));
    if one.needs_id == other.needs_id || other.search_score < SECOND_HIT_MIN || own < EXCLUSIVE_MIN
    {
        return None;
    }
    let order = match one.needs_id {
        true => [second, best],
        false => [best, second],
    };
    Some(order.map(|place| place as ToolIx).to_vec())
}

/// Of the request's words that one tool matches, the weighted share that the other does not match.
fn exclusive_share(scene: &PlanContext<'_>, one: &CandidateTool, other: &CandidateTool) -> f64 {
    let (mut all, mut own) = (0.0, 0.0);
    for (at, telling) in scene.word_weights.iter().enumerate() {
        if one.term_weights[at] > 0.0 {
            all += telling;
            own += if other.term_weights[at] > 0.0 {
                0.0
            } else {
                *telling
            };
        }
    }
    own / f64::max(all, f64::MIN_POSITIVE)
}
