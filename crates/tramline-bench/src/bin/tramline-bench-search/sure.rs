//! Whether confidence is earned: of the hits that are sure, how many are right.

use crate::PAST;
use crate::recall::search;
use crate::report::{Aim, Report};
use crate::sets::Set;
use crate::vectors::Vectors;
use anyhow::Result;
use tramline_engine::search::{Calibration, Signs};

/// A hit that is as sure as this should be right nine times in ten.
const SURE: f64 = 0.95;
/// Fewer sure hits than this prove nothing either way.
const COUNT_MIN: usize = 10;

/// The first hit of a query, and whether it was right.
pub(crate) struct Outcome {
    pub(crate) signs: Signs,
    pub(crate) confidence: f64,
    pub(crate) right: bool,
    /// Which half of the queries it belongs to: weights are fitted to one and held to the other.
    pub(crate) held_out: bool,
}

/// What came of every query of a set.
pub(crate) fn outcomes(
    set: &Set,
    past: usize,
    vectors: &Vectors,
    meaning: bool,
) -> Result<Vec<Outcome>> {
    let found = search(set, past, vectors, meaning)?;
    let each = set.asked.iter().zip(found).enumerate();
    let each = each.filter_map(|(at, (query, hits))| {
        let hit = hits.first()?;
        Some(Outcome {
            signs: hit.signs,
            confidence: hit.confidence,
            right: query.gold.iter().any(|gold| *gold == hit.id),
            held_out: at % 2 == 1,
        })
    });
    Ok(each.collect())
}

pub(crate) fn measure(report: &mut Report, sets: &[Set], vectors: &Vectors) -> Result<()> {
    for set in sets {
        for past in PAST
            .into_iter()
            .take(if set.has_past() { PAST.len() } else { 1 })
        {
            for meaning in [false, true] {
                let all = outcomes(set, past, vectors, meaning)?;
                let held: Vec<&Outcome> = all.iter().filter(|one| one.held_out).collect();
                let how = if meaning {
                    "words and meaning"
                } else {
                    "words"
                };
                let name = format!("{}, {past} past wishes, {how}", set.name);
                table(report, &name, &held);
            }
        }
    }
    for (name, calibration) in [
        ("words", Calibration::WORDS),
        ("meaning", Calibration::MEANING),
    ] {
        report.add(
            format!("bias of confidence by {name}"),
            calibration.bias,
            "",
            Aim::None,
        );
    }
    Ok(())
}

fn table(report: &mut Report, name: &str, held: &[&Outcome]) {
    for (from, to) in [(0.0, 0.5), (0.5, 0.8), (0.8, SURE), (SURE, 1.01)] {
        let inside = held
            .iter()
            .filter(|one| one.confidence >= from && one.confidence < to);
        let inside: Vec<_> = inside.collect();
        let right = inside.iter().filter(|one| one.right).count();
        let share = 100.0 * right as f64 / inside.len().max(1) as f64;
        let aim = match from == SURE && inside.len() >= COUNT_MIN {
            true => Aim::Over(90.0),
            false => Aim::None,
        };
        let of = format!("{name}: right of {} from {from:.2}", inside.len());
        report.add(of, share, "%", aim);
    }
}
