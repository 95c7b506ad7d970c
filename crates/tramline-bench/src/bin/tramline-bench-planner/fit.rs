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
const ROUNDS: usize = 900;
const BATCH: usize = 150;
/// What holds weights back from following single outcomes.
const RIDGE: f64 = 0.002;
const PACE: f64 = 0.3;

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

fn fit(samples: &[Sample]) -> [f64; SIZE] {
    let usable: Vec<&Sample> = samples.iter().filter(|one| one.right.is_some()).collect();
    let (mut weights, mut seen) = ([0.0; SIZE], [1e-8; SIZE]);
    let mut chance = 1_u64;
    for _ in 0..ROUNDS {
        let mut slope = [0.0; SIZE];
        for _ in 0..BATCH {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let sample = usable[(chance >> 33) as usize % usable.len()];
            for (at, share) in sample.shares(&weights).into_iter().enumerate() {
                let by = f64::from(u8::from(sample.right == Some(at))) - share;
                if by.abs() > 1e-4 {
                    slope
                        .iter_mut()
                        .zip(&sample.plans[at])
                        .for_each(|(slope, number)| *slope += by * number);
                }
            }
        }
        for at in 0..SIZE {
            let step = slope[at] / BATCH as f64 - RIDGE * weights[at];
            seen[at] += step * step;
            weights[at] += PACE * step / f64::sqrt(seen[at]);
        }
    }
    weights
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
