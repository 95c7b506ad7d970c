//! Fits the weights of the planner: those that make the right plan the most likely one.
//!
//! Only requests that are not held out are used: some as precedents, some to fit the weights, some
//! to fit the confidence. The quality of plans on the last part is printed, for choosing between
//! variants.

use crate::measure::{PlanOutcome, chained, figures};
use crate::sets::{PlanCase, RequestSet, past};
use tramline_expr::Str;
use tramline_planner::planner::{PLAN_FEATURES, PlanFeatures, select_plan};

/// A weight per feature, and one more per feature for when there are many precedents.
const SIZE: usize = 2 * PLAN_FEATURES;
/// Requests per set used for the weights, and for the confidence.
const FITTED: usize = 1_000;
const SURE: usize = 500;
/// Largest number of precedents.
const PAST_MAX: usize = 3_000;
/// Newton steps; curves like these need about ten.
const STEPS: usize = 12;
/// How often a step that overshoots is halved.
const HALVED_MAX: i32 = 12;
/// Ridge regularisation, against overfitting.
const RIDGE: f64 = 0.004;

/// The candidate plans of one request as features, and which of them are right.
struct PlanSample {
    plans: Vec<[f32; PLAN_FEATURES]>,
    right: Vec<usize>,
    trust: f64,
}

/// Requests with their candidate plans, for reporting quality.
struct HoldoutSet {
    name: String,
    cases: Vec<(PlanCase, Vec<Vec<Str>>, PlanSample)>,
}

/// Prints the weights fitted on some sets, under a name.
pub(crate) fn print(name: &str, sets: &[&RequestSet]) {
    let (mut fitted, mut trials) = (Vec::new(), Vec::new());
    for set in sets {
        let (asked, rest) = set.past.split_at(FITTED.min(set.past.len() / 3));
        let (held, rest) = rest.split_at(SURE.min(rest.len() / 4));
        let rest = &rest[..rest.len().min(PAST_MAX)];
        for many in [0, 50, 300, rest.len()] {
            let past = past(&rest[..many]);
            let asked = asked.iter();
            fitted.extend(asked.map(|case| sample(case, set.weigh(case, &past)).1));
            let cases = held.iter().map(|case| {
                let (plans, sample) = sample(case, set.weigh(case, &past));
                (case.clone(), plans, sample)
            });
            let name = format!("{}, {many} past", set.name);
            eprintln!("{name}");
            let cases = cases.collect();
            trials.push(HoldoutSet { name, cases });
        }
    }
    let scale = scale(&fitted);
    let weights = fit(&fitted, &scale);
    for trial in &trials {
        trial.print_quality(&weights, &scale);
    }
    println!("pub(super) const {name}: Weights = Weights {{\n    signs: [");
    for at in 0..PLAN_FEATURES {
        let of = |at: usize| weights[at] / scale[at];
        println!("        ({:.3}, {:.3}),", of(at), of(at + PLAN_FEATURES));
    }
    let held = trials.iter().flat_map(|trial| &trial.cases);
    let [bias, slope, learnt] = fit_confidence(held, &weights, &scale);
    println!("    ],\n    sureness: [{bias:.3}, {slope:.3}, {learnt:.3}],\n}};");
}

fn sample(
    case: &PlanCase,
    (plans, trust): (Vec<(Vec<Str>, PlanFeatures)>, f64),
) -> (Vec<Vec<Str>>, PlanSample) {
    let same = |tools: &Vec<Str>| match case.ordered {
        true => *tools == case.tools,
        false => {
            tools.len() == case.tools.len() && case.tools.iter().all(|tool| tools.contains(tool))
        }
    };
    let right = (0..plans.len()).filter(|at| same(&plans[*at].0)).collect();
    let (tools, signs): (Vec<_>, Vec<PlanFeatures>) = plans.into_iter().unzip();
    let sample = PlanSample {
        plans: signs
            .into_iter()
            .map(|all| all.map(|one| one as f32))
            .collect(),
        right,
        trust,
    };
    (tools, sample)
}

impl HoldoutSet {
    /// Prints the quality of plans: the best candidate, the likeliest, and the chosen one.
    fn print_quality(&self, weights: &[f64; SIZE], scale: &[f64; SIZE]) {
        let (mut top, mut likely) = (Vec::new(), Vec::new());
        let mut chosen = Vec::new();
        for (case, plans, sample) in self.cases.iter().filter(|(_, plans, _)| !plans.is_empty()) {
            let shares = sample.shares(weights, scale);
            let mut order: Vec<usize> = (0..plans.len()).collect();
            order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
            let listed: Vec<(&[Str], f64)> = order
                .iter()
                .map(|at| (&plans[*at][..], shares[*at]))
                .collect();
            let of = |tools: &[Str]| chained(case, tools);
            let better = |a: &PlanOutcome, b: &PlanOutcome| {
                a.nodes
                    .total_cmp(&b.nodes)
                    .then(a.edges.total_cmp(&b.edges))
            };
            top.extend(plans.iter().map(|plan| of(plan)).max_by(better));
            likely.extend(order.first().map(|at| of(&plans[*at])));
            chosen.extend(select_plan(&listed, sample.trust > 0.0).map(|at| of(listed[at].0)));
        }
        let known = [
            ("best there is", top),
            ("likeliest", likely),
            ("chosen", chosen),
        ];
        for (what, all) in known {
            let found = figures(&all, 0.0);
            let (nodes, edges, exact) = (found.nodes, found.edges, found.exact);
            eprintln!(
                "{:<24} {what:<14} {nodes:5.1} {edges:5.1} {exact:5.1}",
                self.name
            );
        }
    }
}

impl PlanSample {
    /// The features of a plan, and once more scaled by the trust in the precedents, each
    /// normalised.
    fn wide(&self, plan: &[f32; PLAN_FEATURES], scale: &[f64; SIZE]) -> [f64; SIZE] {
        let mut all = [0.0; SIZE];
        for (at, sign) in plan.iter().enumerate() {
            all[at] = f64::from(*sign) / scale[at];
            all[at + PLAN_FEATURES] = f64::from(*sign) * self.trust / scale[at + PLAN_FEATURES];
        }
        all
    }

    fn shares(&self, weights: &[f64; SIZE], scale: &[f64; SIZE]) -> Vec<f64> {
        let mut each = [0.0; PLAN_FEATURES];
        for at in 0..PLAN_FEATURES {
            let learnt = self.trust * weights[at + PLAN_FEATURES] / scale[at + PLAN_FEATURES];
            each[at] = weights[at] / scale[at] + learnt;
        }
        let score = |plan: &[f32; PLAN_FEATURES]| -> f64 {
            plan.iter().zip(&each).map(|(a, b)| f64::from(*a) * b).sum()
        };
        let mut all: Vec<f64> = self.plans.iter().map(score).collect();
        let top = all.iter().copied().fold(f64::MIN, f64::max);
        all.iter_mut()
            .for_each(|score| *score = (*score - top).exp());
        let sum: f64 = all.iter().sum();
        all.iter_mut().for_each(|share| *share /= sum);
        all
    }

    /// Adds the gradient of the right plan's likelihood, and its curvature.
    fn add_gradient(
        &self,
        (weights, scale): (&[f64; SIZE], &[f64; SIZE]),
        slope: &mut [f64; SIZE],
        bend: &mut [[f64; SIZE]],
    ) {
        let shares = self.shares(weights, scale);
        let wide: Vec<_> = self
            .plans
            .iter()
            .map(|plan| self.wide(plan, scale))
            .collect();
        let mut mean = [0.0; SIZE];
        for (plan, share) in wide.iter().zip(&shares) {
            mean.iter_mut()
                .zip(plan)
                .for_each(|(mean, number)| *mean += share * number);
        }
        let chance: f64 = self.right.iter().map(|at| shares[*at]).sum();
        for right in &self.right {
            let part = shares[*right] / chance.max(f64::MIN_POSITIVE);
            let right = wide[*right].iter().zip(&mean);
            slope
                .iter_mut()
                .zip(right)
                .for_each(|(slope, (number, mean))| *slope += part * (number - mean));
        }
        let likely = wide.iter().zip(&shares).filter(|(_, share)| **share > 1e-4);
        for (plan, share) in likely {
            for at in 0..SIZE {
                let by = share * (plan[at] - mean[at]);
                for other in 0..SIZE {
                    bend[at][other] += by * (plan[other] - mean[other]);
                }
            }
        }
    }
}

/// The spread of each feature, so that all are fitted at the same pace.
fn scale(samples: &[PlanSample]) -> [f64; SIZE] {
    let (mut sums, mut squares, mut count) = ([0.0; SIZE], [0.0; SIZE], 0.0_f64);
    for sample in samples {
        for plan in &sample.plans {
            count += 1.0;
            let plan = sample.wide(plan, &[1.0; SIZE]);
            for at in 0..SIZE {
                sums[at] += plan[at];
                squares[at] += plan[at] * plan[at];
            }
        }
    }
    let mut scale = [1.0; SIZE];
    for at in 0..SIZE {
        let mean = sums[at] / count;
        scale[at] = (squares[at] / count - mean * mean)
            .max(0.0)
            .sqrt()
            .max(1e-3);
    }
    scale
}

/// Newton's method for the weights that make the right plans the most likely.
fn fit(samples: &[PlanSample], scale: &[f64; SIZE]) -> [f64; SIZE] {
    let usable: Vec<&PlanSample> = samples.iter().filter(|one| !one.right.is_empty()).collect();
    let many = usable.len().max(1) as f64;
    let mut weights = [0.0; SIZE];
    for _ in 0..STEPS {
        let mut slope = [0.0; SIZE];
        let mut bend = vec![[0.0; SIZE]; SIZE];
        for sample in &usable {
            sample.add_gradient((&weights, scale), &mut slope, &mut bend);
        }
        for at in 0..SIZE {
            slope[at] = slope[at] / many - RIDGE * weights[at];
            bend[at].iter_mut().for_each(|number| *number /= many);
            bend[at][at] += RIDGE;
        }
        let step = solve(bend, slope);
        let before = log_likelihood(&usable, &weights, scale);
        // A whole step may overshoot.
        let tried = (0..HALVED_MAX).map(|halved| {
            let mut tried = weights;
            let part = 0.5_f64.powi(halved);
            tried
                .iter_mut()
                .zip(step)
                .for_each(|(weight, step)| *weight += part * step);
            tried
        });
        let mut better = tried.filter(|tried| log_likelihood(&usable, tried, scale) > before);
        match better.next() {
            Some(better) => weights = better,
            None => break,
        }
    }
    weights
}

/// The mean log-likelihood of the right plans, minus the regularisation.
fn log_likelihood(samples: &[&PlanSample], weights: &[f64; SIZE], scale: &[f64; SIZE]) -> f64 {
    let chance = |sample: &&PlanSample| {
        let shares = sample.shares(weights, scale);
        sample.right.iter().map(|right| shares[*right]).sum::<f64>()
    };
    let all: f64 = samples
        .iter()
        .map(|one| chance(one).max(f64::MIN_POSITIVE).ln())
        .sum();
    let held: f64 = weights.iter().map(|weight| weight * weight).sum();
    all / samples.len().max(1) as f64 - 0.5 * RIDGE * held
}

/// Solves linear equations; the ridge guarantees a solution.
fn solve(mut rows: Vec<[f64; SIZE]>, mut right: [f64; SIZE]) -> [f64; SIZE] {
    for at in 0..SIZE {
        let (from, by) = (rows[at], right[at]);
        for other in (0..SIZE).filter(|other| *other != at) {
            let factor = rows[other][at] / from[at];
            rows[other]
                .iter_mut()
                .zip(from)
                .for_each(|(number, from)| *number -= factor * from);
            right[other] -= factor * by;
        }
    }
    for at in 0..SIZE {
        right[at] /= rows[at][at];
    }
    right
}

/// Fits the logistic curve that turns shares into probabilities.
fn fit_confidence<'a>(
    cases: impl Iterator<Item = &'a (PlanCase, Vec<Vec<Str>>, PlanSample)>,
    weights: &[f64; SIZE],
    scale: &[f64; SIZE],
) -> [f64; 3] {
    let mut outcomes: Vec<([f64; 3], f64)> = Vec::new();
    for (_, plans, sample) in cases {
        let shares = sample.shares(weights, scale);
        let mut order: Vec<usize> = (0..plans.len()).collect();
        order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
        let listed: Vec<(&[Str], f64)> = order
            .iter()
            .map(|at| (&plans[*at][..], shares[*at]))
            .collect();
        if let Some(at) = select_plan(&listed, sample.trust > 0.0) {
            let share = listed[at].1.clamp(1e-6, 1.0 - 1e-6);
            let right = f64::from(u8::from(sample.right.contains(&order[at])));
            outcomes.push(([1.0, (share / (1.0 - share)).ln(), sample.trust], right));
        }
    }
    let mut now = [0.0, 1.0, 0.0];
    for _ in 0..4_000 {
        let mut slope = [0.0; 3];
        for (signs, right) in &outcomes {
            let sum: f64 = signs.iter().zip(now).map(|(a, b)| a * b).sum();
            let chance = 1.0 / (1.0 + (-sum).exp());
            for at in 0..3 {
                slope[at] += (right - chance) * signs[at] / outcomes.len() as f64;
            }
        }
        now.iter_mut()
            .zip(slope)
            .for_each(|(now, slope)| *now += slope);
    }
    now
}
