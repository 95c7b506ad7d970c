//! Fits the weights of confidence to outcomes by logistic regression.

use crate::PAST_QUERIES;
use crate::confidence::{HitOutcome, outcomes};
use crate::sets::QuerySet;
use crate::vectors::EmbeddingCache;
use anyhow::{Result, ensure};
use tramline_catalog::search::{Calibration, HitFeatures};

/// The bias and a weight per feature.
const SIZE: usize = HitFeatures::WEIGHED + 1;
/// Ridge regularisation, against overfitting.
const RIDGE: f64 = 1e-3;
/// Newton steps; such a curve needs about ten.
const STEPS: usize = 50;
/// Sets used for fitting. The others show whether the weights generalise.
const FITTED: [&str; 3] = ["LiveMCP", "MetaTool", "UltraTool"];

/// An outcome as numbers.
struct HitSample {
    signs: [f64; SIZE],
    right: f64,
    weight: f64,
}

/// Prints the weights for both kinds of search.
pub(crate) fn print(sets: &[QuerySet], vectors: &EmbeddingCache) -> Result<()> {
    for (name, meaning) in [("WORDS", false), ("MEANING", true)] {
        let mut samples = Vec::new();
        for set in sets.iter().filter(|set| FITTED.contains(&set.name)) {
            for past in PAST_QUERIES.into_iter().take(if set.has_past() {
                PAST_QUERIES.len()
            } else {
                1
            }) {
                let all = outcomes(set, past, vectors, meaning)?;
                let fitted: Vec<&HitOutcome> = all.iter().filter(|one| !one.held_out).collect();
                // Each set and stage has the same weight, however many queries it has.
                let weight = 1.0 / fitted.len().max(1) as f64;
                samples.extend(fitted.iter().map(|one| sample(one, weight)));
            }
        }
        let Calibration { bias, weights } = fit_signs(samples)?;
        let weights = weights.map(|weight| format!("{weight:.2}")).join(", ");
        println!("{name}: bias {bias:.2}, weights [{weights}]");
    }
    Ok(())
}

fn sample(outcome: &HitOutcome, weight: f64) -> HitSample {
    let mut signs = [1.0; SIZE];
    signs[1..].copy_from_slice(&outcome.signs.weighted());
    HitSample {
        signs,
        right: f64::from(u8::from(outcome.right)),
        weight,
    }
}

/// Every feature is evidence for a hit. A feature with a negative weight is removed, and the others
/// are fitted again.
fn fit_signs(mut samples: Vec<HitSample>) -> Result<Calibration> {
    loop {
        let found = fit(&samples)?;
        let against: Vec<usize> = (0..HitFeatures::WEIGHED)
            .filter(|at| found.weights[*at] < -1e-9)
            .collect();
        if against.is_empty() {
            return Ok(found);
        }
        for sample in &mut samples {
            against.iter().for_each(|at| sample.signs[at + 1] = 0.0);
        }
    }
}

fn fit(samples: &[HitSample]) -> Result<Calibration> {
    let mut now = [0.0; SIZE];
    for _ in 0..STEPS {
        let mut slope = now.map(|weight| -RIDGE * weight);
        let mut bend = [[0.0; SIZE]; SIZE];
        for (at, row) in bend.iter_mut().enumerate() {
            row[at] = RIDGE;
        }
        for HitSample {
            signs,
            right,
            weight,
        } in samples
        {
            let sum: f64 = signs.iter().zip(now).map(|(sign, by)| sign * by).sum();
            let chance = 1.0 / (1.0 + (-sum).exp());
            for at in 0..SIZE {
                slope[at] += weight * (right - chance) * signs[at];
                for other in 0..SIZE {
                    bend[at][other] += weight * chance * (1.0 - chance) * signs[at] * signs[other];
                }
            }
        }
        let step = solve(bend, slope);
        ensure!(
            step.iter().all(|part| part.is_finite()),
            "the outcomes do not determine a curve"
        );
        now.iter_mut()
            .zip(step)
            .for_each(|(now, step)| *now += step);
    }
    let mut weights = [0.0; HitFeatures::WEIGHED];
    weights.copy_from_slice(&now[1..]);
    Ok(Calibration {
        bias: now[0],
        weights,
    })
}

/// Solves linear equations; the ridge guarantees a solution.
fn solve(mut rows: [[f64; SIZE]; SIZE], mut right: [f64; SIZE]) -> [f64; SIZE] {
    for at in 0..SIZE {
        let best = (at..SIZE).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()));
        let best = best.unwrap_or(at);
        rows.swap(at, best);
        right.swap(at, best);
        for other in (0..SIZE).filter(|other| *other != at) {
            let factor = rows[other][at] / rows[at][at];
            let (from, by) = (rows[at], right[at]);
            rows[other]
                .iter_mut()
                .zip(from)
                .for_each(|(number, from)| *number -= factor * from);
            right[other] -= factor * by;
        }
    }
    let mut solved = [0.0; SIZE];
    for at in 0..SIZE {
        solved[at] = right[at] / rows[at][at];
    }
    solved
}
