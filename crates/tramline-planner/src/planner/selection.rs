//! Selects the plan for a request, and decides whether precedents may influence it.
//!
//! The plan is first made without precedents. They vote only if they concern the same tools: if a tool of that plan was
//! used before, or if they are so similar and so unanimous that the tools' descriptions matter less. Precedents from
//! another domain share words with a request and nothing else, and would only lead away from the tools that were found.

use super::context::{NearPrecedents, PlanContext, ToolIx};
use super::features::{ScoredPlan, calibrate};
use super::{PlanInput, clause_tools, lookup_chain, scored_plans, select_plan};

/// Lowest fit at which a clause names its tool clearly enough to need no vote.
const CLEAR_FIT_MIN: f64 = 0.4;
/// Confidence below which clearly worded clauses take precedence over the scored plan.
const CONFIDENCE_MIN: f64 = 0.8;
/// Lowest similarity of the nearest precedent for precedents that never used a tool that was found ...
const NEAR_ENOUGH_MIN: f64 = 0.5;
/// ... and the lowest share of votes for the same tool.
const AGREED_MIN: f64 = 0.8;

/// The candidate plans, the selected one first.
pub(super) struct PlanSelection<'a> {
    pub(super) context: PlanContext<'a>,
    pub(super) plans: Vec<ScoredPlan>,
    /// The best tools of the clauses, in the order of the clauses.
    pub(super) clause_tools: Vec<ToolIx>,
    /// The confidence in the plan that was always used before, if that plan is selected.
    pub(super) precedent_confidence: Option<f64>,
}

impl<'a> PlanSelection<'a> {
    pub(super) fn select(ask: &PlanInput<'a>) -> Self {
        let near = NearPrecedents::of(ask);
        let alone = Self::with_precedents(ask, &NearPrecedents::NONE);
        if near.is_empty() {
            return alone;
        }
        let scene = PlanContext::new(ask, &near);
        match alone.was_ever_used(ask) || are_precedents_unanimous(&scene) {
            true => Self::in_context(ask, scene),
            false => alone,
        }
    }

    fn with_precedents(ask: &PlanInput<'a>, near: &NearPrecedents) -> Self {
        Self::in_context(ask, PlanContext::new(ask, near))
    }

    fn in_context(ask: &PlanInput<'_>, context: PlanContext<'a>) -> Self {
        let clause_tools = clause_tools(ask, &context);
        let mut plans = scored_plans(&context, &clause_tools);
        let candidates: Vec<_> = plans
            .iter()
            .map(|one| (&one.tools[..], one.share))
            .collect();
        if let Some(nearest) = select_plan(&candidates, !context.voters.is_empty()) {
            plans[..=nearest].rotate_right(1);
        }
        let sure = plans.first().map(|one| calibrate(one.share, &context));
        if is_clear(ask) && sure.unwrap_or(0.0) < CONFIDENCE_MIN {
            move_to_front(&mut plans, &clause_tools);
        }
        if let Some(tools) = lookup_chain::find_chain(ask, &context, &plans) {
            move_to_front(&mut plans, &tools);
        }
        let usual = context.unanimous_precedent();
        let usual = usual.filter(|(tools, _)| move_to_front(&mut plans, tools));
        let precedent_confidence = usual.map(|(_, sure)| sure);
        Self {
            context,
            plans,
            clause_tools,
            precedent_confidence,
        }
    }

    /// Whether some tool of the plan was used before. If search found nothing, precedents are the only source.
    fn was_ever_used(&self, ask: &PlanInput<'_>) -> bool {
        let Some(picked) = self.plans.first() else {
            return true;
        };
        let mut tools = picked
            .tools
            .iter()
            .map(|place| self.context.candidate(*place));
        tools.any(|seen| ask.precedents.number(&seen.tool.name.to_string()).is_some())
    }
}

/// Whether the nearest precedents agree.
fn are_precedents_unanimous(scene: &PlanContext<'_>) -> bool {
    let nearest = scene.voters.iter().map(|voter| voter.similarity);
    let nearest = nearest.fold(0.0, f64::max);
    let agreed = scene.tools.iter().map(|seen| seen.vote).fold(0.0, f64::max);
    scene.unanimous_precedent().is_some() || (nearest >= NEAR_ENOUGH_MIN && agreed >= AGREED_MIN)
}

/// Whether every clause names its tool clearly.
fn is_clear(ask: &PlanInput<'_>) -> bool {
    let fits = ask.search.clauses.iter();
    let mut fits = fits.map(|clause| clause.best.as_ref().map_or(0.0, |(_, fit)| *fit));
    !ask.search.clauses.is_empty() && fits.all(|fit| fit >= CLEAR_FIT_MIN)
}

/// Moves a plan to the front; `false` if it is not a candidate.
fn move_to_front(weighed: &mut [ScoredPlan], tools: &[ToolIx]) -> bool {
    let at = weighed.iter().position(|one| one.tools == tools);
    if let Some(at) = at {
        weighed[..=at].rotate_right(1);
    }
    at.is_some()
}
