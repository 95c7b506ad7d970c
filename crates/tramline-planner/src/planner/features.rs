//! The features of a candidate plan and its score: votes, words and order as numbers with fitted weights.
//!
//! The weights were fitted by `cargo xtask bench planner --fit` on requests with known plans. None of these requests is
//! in the set on which `bench planner` measures the planner.

use super::candidate_plans::vote_shares;
use super::context::{CandidateTool, PlanContext, ToolIx};
use super::weights::{BY_MEANING, BY_WORDS, Weights};

/// Number of features of a candidate plan.
pub const PLAN_FEATURES: usize = 34;
/// Added to each tool's vote, so that one tool without votes does not rule out a plan.
const VOTE_FLOOR: f64 = 0.02;
/// Added to the share of a plan's length, so that a new length does not rule out a plan.
const LENGTH_FLOOR: f64 = 0.05;

/// The features of a candidate plan.
pub type PlanFeatures = [f64; PLAN_FEATURES];

/// A scored plan.
#[derive(Clone, Debug)]
pub(super) struct ScoredPlan {
    pub(super) tools: Vec<ToolIx>,
    pub(super) features: PlanFeatures,
    /// Its share among all candidate plans.
    pub(super) share: f64,
}

/// Pairs of tools that follow each other directly.
type ToolPairs = Vec<(ToolIx, ToolIx)>;

/// The precedents' plans that candidates are compared with.
struct Ensemble {
    shares: Vec<(Vec<ToolIx>, f64)>,
    sets: Vec<(u128, ToolPairs, f64)>,
}

/// The plans with their shares, best first.
pub(super) fn score_plans(
    scene: &PlanContext<'_>,
    plans: Vec<Vec<ToolIx>>,
    by_clauses: &[ToolIx],
) -> Vec<ScoredPlan> {
    let shares = vote_shares(scene);
    let sets = shares
        .iter()
        .map(|(plan, share)| (tool_set(plan), pairs(plan), *share));
    let ballot = Ensemble {
        sets: sets.collect(),
        shares,
    };
    let weigh = |tools: Vec<ToolIx>| {
        let signs = features(scene, &ballot, &tools, by_clauses);
        let share = score(&signs, scene);
        ScoredPlan {
            tools,
            features: signs,
            share,
        }
    };
    let mut all: Vec<ScoredPlan> = plans.into_iter().map(weigh).collect();
    let top = all.iter().map(|one| one.share).fold(f64::MIN, f64::max);
    all.iter_mut()
        .for_each(|one| one.share = (one.share - top).exp());
    // The fewer candidates there are, the more likely it is that none of them is right.
    let some = all.len() as f64 / (all.len() as f64 + 1.0);
    let sum = all.iter().map(|one| one.share).sum::<f64>() / some;
    all.iter_mut().for_each(|one| one.share /= sum);
    all.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.tools.cmp(&b.tools))
    });
    all
}

fn weights(scene: &PlanContext<'_>) -> &'static Weights {
    match scene.used_embeddings {
        false => &BY_WORDS,
        true => &BY_MEANING,
    }
}

fn score(signs: &PlanFeatures, scene: &PlanContext<'_>) -> f64 {
    let each = signs.iter().zip(&weights(scene).signs);
    each.map(|(sign, (always, learnt))| sign * (always + scene.trust * learnt))
        .sum()
}

/// The calibrated confidence of a plan with a given share.
pub(super) fn calibrate(share: f64, scene: &PlanContext<'_>) -> f64 {
    let share = share.clamp(1e-6, 1.0 - 1e-6);
    let [bias, slope, learnt] = weights(scene).sureness;
    let sum = bias + slope * (share / (1.0 - share)).ln() + learnt * scene.trust;
    1.0 / (1.0 + (-sum).exp())
}

fn tool_set(plan: &[ToolIx]) -> u128 {
    plan.iter().fold(0, |set, place| set | 1 << *place)
}

fn pairs(plan: &[ToolIx]) -> ToolPairs {
    plan.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// The overlap of two plans in pairs of neighbours.
fn pair_overlap(one: &[(ToolIx, ToolIx)], other: &[(ToolIx, ToolIx)]) -> f64 {
    match one.len() + other.len() {
        0 => 1.0,
        all => 2.0 * one.iter().filter(|pair| other.contains(pair)).count() as f64 / all as f64,
    }
}

fn features(
    scene: &PlanContext<'_>,
    ballot: &Ensemble,
    plan: &[ToolIx],
    by_clauses: &[ToolIx],
) -> PlanFeatures {
    let count = plan.len() as f64;
    let (tools, links) = (tool_set(plan), pairs(plan));
    let seen: Vec<_> = plan.iter().map(|place| scene.candidate(*place)).collect();
    let same = ballot.shares.iter().find(|(known, _)| known == plan);
    let node = |other: u128| {
        2.0 * f64::from((tools & other).count_ones())
            / f64::from(tools.count_ones() + other.count_ones())
    };
    let nodes: f64 = ballot
        .sets
        .iter()
        .map(|(other, _, share)| share * node(*other))
        .sum();
    let edges: f64 = ballot
        .sets
        .iter()
        .map(|(_, other, share)| share * pair_overlap(&links, other))
        .sum();
    let long: f64 = ballot
        .shares
        .iter()
        .filter(|(known, _)| known.len() == plan.len())
        .map(|(_, share)| share)
        .sum();
    let found: f64 = seen.iter().map(|one| one.search_score).sum();
    let least = |of: fn(&CandidateTool) -> f64| seen.iter().map(|one| of(one)).fold(1.0, f64::min);
    let votes: f64 = seen.iter().map(|one| (one.vote + VOTE_FLOOR).ln()).sum();
    let voted = if scene.voters.is_empty() { 0.0 } else { 1.0 };
    let order = OrderFeatures::of(scene, plan);
    // A longer request tends to need more tools.
    let words = (1.0 + scene.word_weights.len() as f64).ln();
    [
        same.map_or(0.0, |(_, share)| *share),
        nodes,
        edges,
        found / count,
        found,
        word_coverage(scene, plan),
        voted * order.follows / count,
        voted * order.before / count,
        order.clauses / count,
        order.stages / count,
        order.kin,
        voted * (long + LENGTH_FLOOR).ln(),
        least(|one| one.vote),
        voted * votes / count,
        voted * votes,
        least(|one| one.search_score),
        f64::from(u8::from(plan.len() == 1)),
        count,
        f64::from(u8::from(same.is_some())),
        f64::from(u8::from(plan == by_clauses)),
        f64::from(u8::from(plan.len() == 1)) * words,
        count * words,
        (count - scene.clause_shares.len() as f64).abs(),
        order.overlap,
        clause_coverage(scene, &seen),
        seen.iter().map(|one| one.best_clause_score()).sum(),
        least(CandidateTool::best_clause_score),
        best_tool_share(scene, &seen),
        seen.iter().map(|one| (1.0 + one.rank as f64).ln()).sum(),
        order.spoken / count,
        seen.iter()
            .map(|one| one.search_score * one.search_score)
            .sum(),
        seen.iter().map(|one| one.name_coverage).sum(),
        least(|one| one.name_coverage),
        missing_lookups(&seen),
    ]
}

/// How well the tools of a plan match the clauses; the best tool counts for each clause.
fn clause_coverage(scene: &PlanContext<'_>, seen: &[&CandidateTool]) -> f64 {
    let fit = |at: usize| {
        seen.iter()
            .map(|one| one.clause_scores[at])
            .fold(0.0, f64::max)
    };
    let each = scene.clause_shares.iter().enumerate();
    each.map(|(at, share)| share * fit(at)).sum()
}

/// The share of the clauses whose best tool is in the plan.
fn best_tool_share(scene: &PlanContext<'_>, seen: &[&CandidateTool]) -> f64 {
    let led = |at: usize| seen.iter().any(|one| one.clause_scores[at] >= 1.0);
    let each = scene.clause_shares.iter().enumerate();
    each.filter(|(at, _)| led(*at))
        .map(|(_, share)| share)
        .sum()
}

/// The number of tools that need an id and have no tool before them that could provide it: one that searches, or one
/// that shares a word of the name.
fn missing_lookups(seen: &[&CandidateTool]) -> f64 {
    let leads = |one: &CandidateTool, to: &CandidateTool| {
        one.stage == 0 || one.name.iter().any(|word| to.name.contains(word))
    };
    let each = seen.iter().enumerate();
    let open = each
        .filter(|(at, one)| one.needs_id && !seen[..*at].iter().any(|before| leads(before, one)));
    open.count() as f64
}

/// The mean index of the clauses that match a tool, weighted by how well they match it.
fn clause_position(seen: &CandidateTool) -> Option<f64> {
    let all: f64 = seen.clause_scores.iter().map(|fit| fit.powi(4)).sum();
    let each = seen.clause_scores.iter().enumerate();
    let at: f64 = each.map(|(at, fit)| at as f64 * fit.powi(4)).sum();
    (all > 0.0).then(|| at / all)
}

/// The weighted share of the request's words that some tool of a plan covers.
fn word_coverage(scene: &PlanContext<'_>, plan: &[ToolIx]) -> f64 {
    let all: f64 = scene.word_weights.iter().sum();
    let pull = |at: usize| {
        let pulls = plan
            .iter()
            .map(|place| scene.candidate(*place).term_weights[at]);
        (pulls.fold(0.0, f64::max) / 1.5).min(1.0)
    };
    let met: f64 = scene
        .word_weights
        .iter()
        .enumerate()
        .map(|(at, telling)| telling * pull(at))
        .sum();
    met / all.max(f64::MIN_POSITIVE)
}

/// The features of a plan's order.
#[derive(Default)]
struct OrderFeatures {
    follows: f64,
    before: f64,
    clauses: f64,
    spoken: f64,
    stages: f64,
    kin: f64,
    overlap: f64,
}

impl OrderFeatures {
    fn of(scene: &PlanContext<'_>, plan: &[ToolIx]) -> Self {
        let mut order = Self::default();
        let mut count = 0.0_f64;
        for (at, one) in plan.iter().enumerate() {
            for (later, other) in plan.iter().enumerate().skip(at + 1) {
                let (one, other) = (scene.candidate(*one), scene.candidate(*other));
                let numbers = one.number.zip(other.number);
                let (so, otherwise) =
                    numbers.map_or((0, 0), |(a, b)| scene.precedents.order_counts(a, b));
                order.before += ((f64::from(so) + 0.5) / (f64::from(so + otherwise) + 1.0)).ln();
                if later == at + 1 {
                    order.follows += numbers
                        .map_or(0.005, |(a, b)| scene.precedents.follows(a, b))
                        .ln();
                }
                order.clauses += (4.0 * (other.position - one.position)).tanh();
                if let (Some(a), Some(b)) = (clause_position(one), clause_position(other)) {
                    order.spoken += (b - a).tanh();
                }
                order.stages += f64::from(
                    i8::from(one.stage < other.stage) - i8::from(one.stage > other.stage),
                );
                let shared = one
                    .name
                    .iter()
                    .filter(|word| other.name.contains(word))
                    .count();
                order.kin += shared as f64 / one.name.len().min(other.name.len()).max(1) as f64;
                order.overlap += overlap(&one.term_weights, &other.term_weights);
                count += 1.0;
            }
        }
        order.kin /= count.max(1.0);
        order.overlap /= count.max(1.0);
        order
    }
}

/// How far two tools cover the same words. Such tools are more likely alternatives than consecutive steps.
fn overlap(one: &[f64], other: &[f64]) -> f64 {
    let both: f64 = one.iter().zip(other).map(|(a, b)| a.min(*b)).sum();
    let least = one.iter().sum::<f64>().min(other.iter().sum());
    both / least.max(f64::MIN_POSITIVE)
}
