//! Fits the weights of plans to outcomes: those that make the right one of all plans likeliest.
//!
//! Only requests that are not held out are used, a part of them as past, a part to fit weights to, a part
//! to fit the confidence to.

use crate::sets::{Case, Set, past};
use tramline_core::Str;
use tramline_engine::planner::SIGNS;

/// A weight for each sign, and one more where much was learnt.
const SIZE: usize = 2 * SIGNS;
/// So many requests of a set are fitted to, and so many more make the confidence.
const FITTED: usize = 450;
const SURE: usize = 350;
/// So many past executions are had at most.
const PAST_MAX: usize = 3_000;
/// Newton's steps; curves like these take some ten.
const STEPS: usize = 12;
/// A step that leads too far is halved so often.
const HALVED_MAX: i32 = 12;
/// What holds weights back from following single outcomes.
const RIDGE: f64 = 0.004;

/// The plans of one request, as numbers, and which of them is right.
struct Sample {
    plans: Vec<[f64; SIZE]>,
    right: Option<usize>,
    trust: f64,
}

/// Prints the weights.
pub(crate) fn print(sets: &[&Set]) {
    let (mut fitted, mut sure) = (Vec::new(), Vec::new());
    for set in sets {
        let cut = FITTED.min(set.past.len() / 5);
        let (asked, rest) = set.past.split_at(cut);
        let (held, rest) = rest.split_at(SURE.min(rest.len() / 5));
        let rest = &rest[..rest.len().min(PAST_MAX)];
        for many in [0, 50, 300, rest.len()] {
            let past = past(&rest[..many]);
            let samples = |cases: &[Case]| -> Vec<Sample> {
                cases
                    .iter()
                    .map(|case| sample(case, set.weigh(case, &past)))
                    .collect()
            };
            fitted.extend(samples(asked));
            sure.extend(samples(held));
            eprintln!("{} with {many}", set.name);
        }
    }
    let scale = scale(&fitted);
    fitted.iter_mut().for_each(|sample| sample.scale(&scale));
    sure.iter_mut().for_each(|sample| sample.scale(&scale));
    let weights = fit(&fitted);
    println!("pub(super) const WEIGHTS: [(f64, f64); SIGNS] = [");
    for at in 0..SIGNS {
        let of = |at: usize| weights[at] / scale[at];
        println!("    ({:.3}, {:.3}),", of(at), of(at + SIGNS));
    }
    println!("];");
    let [bias, slope, learnt] = sureness(&sure, &weights);
    println!("pub(super) const SURENESS: [f64; 3] = [{bias:.3}, {slope:.3}, {learnt:.3}];");
}

fn sample(case: &Case, (plans, trust): (Vec<(Vec<Str>, [f64; SIGNS])>, f64)) -> Sample {
    let right = plans.iter().position(|(tools, _)| *tools == case.tools);
    let numbers = plans.iter().map(|(_, signs)| {
        let mut all = [0.0; SIZE];
        for (at, sign) in signs.iter().enumerate() {
            all[at] = *sign;
            all[at + SIGNS] = sign * trust;
        }
        all
    });
    Sample {
        plans: numbers.collect(),
        right,
        trust,
    }
}

impl Sample {
    fn scale(&mut self, by: &[f64; SIZE]) {
        for plan in &mut self.plans {
            plan.iter_mut()
                .zip(by)
                .for_each(|(number, by)| *number /= by);
        }
    }

    fn shares(&self, weights: &[f64; SIZE]) -> Vec<f64> {
        let score =
            |plan: &[f64; SIZE]| -> f64 { plan.iter().zip(weights).map(|(a, b)| a * b).sum() };
        let mut all: Vec<f64> = self.plans.iter().map(score).collect();
        let top = all.iter().copied().fold(f64::MIN, f64::max);
        all.iter_mut()
            .for_each(|score| *score = (*score - top).exp());
        let sum: f64 = all.iter().sum();
        all.iter_mut().for_each(|share| *share /= sum);
        all
    }
}

impl Sample {
    /// How likely its right plan becomes with each weight, and how that bends.
    fn lean(&self, weights: &[f64; SIZE], slope: &mut [f64; SIZE], bend: &mut [[f64; SIZE]]) {
        let shares = self.shares(weights);
        let mut mean = [0.0; SIZE];
        for (plan, share) in self.plans.iter().zip(&shares) {
            mean.iter_mut()
                .zip(plan)
                .for_each(|(mean, number)| *mean += share * number);
        }
        if let Some(right) = self.right {
            let right = self.plans[right].iter().zip(&mean);
            slope
                .iter_mut()
                .zip(right)
                .for_each(|(slope, (number, mean))| *slope += number - mean);
        }
        for (plan, share) in self
            .plans
            .iter()
            .zip(&shares)
            .filter(|(_, share)| **share > 1e-4)
        {
            for at in 0..SIZE {
                let by = share * (plan[at] - mean[at]);
                for other in 0..SIZE {
                    bend[at][other] += by * (plan[other] - mean[other]);
                }
            }
        }
    }
}

/// How widely each number is spread, so that all are fitted at one pace.
fn scale(samples: &[Sample]) -> [f64; SIZE] {
    let (mut sums, mut squares, mut count) = ([0.0; SIZE], [0.0; SIZE], 0.0_f64);
    for plan in samples.iter().flat_map(|sample| &sample.plans) {
        count += 1.0;
        for at in 0..SIZE {
            sums[at] += plan[at];
            squares[at] += plan[at] * plan[at];
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

/// Newton's way to the weights that make the right plans likeliest.
fn fit(samples: &[Sample]) -> [f64; SIZE] {
    let usable: Vec<&Sample> = samples.iter().filter(|one| one.right.is_some()).collect();
    let many = usable.len().max(1) as f64;
    let mut weights = [0.0; SIZE];
    for _ in 0..STEPS {
        let mut slope = [0.0; SIZE];
        let mut bend = vec![[0.0; SIZE]; SIZE];
        for sample in &usable {
            sample.lean(&weights, &mut slope, &mut bend);
        }
        for at in 0..SIZE {
            slope[at] = slope[at] / many - RIDGE * weights[at];
            bend[at].iter_mut().for_each(|number| *number /= many);
            bend[at][at] += RIDGE;
        }
        let step = solve(bend, slope);
        let before = worth(&usable, &weights);
        // A whole step may lead too far.
        let tried = (0..HALVED_MAX).map(|halved| {
            let mut tried = weights;
            let part = 0.5_f64.powi(halved);
            tried
                .iter_mut()
                .zip(step)
                .for_each(|(weight, step)| *weight += part * step);
            tried
        });
        let mut better = tried.filter(|tried| worth(&usable, tried) > before);
        match better.next() {
            Some(better) => weights = better,
            None => break,
        }
    }
    weights
}

/// How likely the right plans are with some weights, less what holds those back.
fn worth(samples: &[&Sample], weights: &[f64; SIZE]) -> f64 {
    let chance = |sample: &&Sample| {
        sample
            .right
            .map_or(1.0, |right| sample.shares(weights)[right])
    };
    let all: f64 = samples
        .iter()
        .map(|one| chance(one).max(f64::MIN_POSITIVE).ln())
        .sum();
    let held: f64 = weights.iter().map(|weight| weight * weight).sum();
    all / samples.len().max(1) as f64 - 0.5 * RIDGE * held
}

/// Solves linear equations; the ridge keeps them from having no solution.
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

/// The curve that makes shares chances.
fn sureness(samples: &[Sample], weights: &[f64; SIZE]) -> [f64; 3] {
    let outcomes: Vec<([f64; 3], f64)> = samples
        .iter()
        .filter(|sample| !sample.plans.is_empty())
        .map(|sample| {
            let shares = sample.shares(weights);
            let (best, share) = shares
                .iter()
                .enumerate()
                .fold(
                    (0, 0.0),
                    |best, (at, share)| if *share > best.1 { (at, *share) } else { best },
                );
            let share = share.clamp(1e-6, 1.0 - 1e-6);
            let right = f64::from(u8::from(sample.right == Some(best)));
            ([1.0, (share / (1.0 - share)).ln(), sample.trust], right)
        })
        .collect();
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
