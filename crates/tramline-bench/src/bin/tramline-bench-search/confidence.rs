//! Whether confidence is accurate: how many of the confident hits are right.

use crate::PAST_QUERIES;
use crate::recall::search;
use crate::report::{BenchReport, FigureTarget};
use crate::sets::QuerySet;
use crate::vectors::EmbeddingCache;
use anyhow::Result;
use tramline_catalog::search::{Calibration, HitFeatures};

/// Confidence from which a hit should be right nine times in ten.
const SURE: f64 = 0.95;
/// Fewer confident hits than this are not significant.
const COUNT_MIN: usize = 10;

/// The first hit of a query, and whether it is right.
pub(crate) struct HitOutcome {
    pub(crate) signs: HitFeatures,
    pub(crate) confidence: f64,
    pub(crate) right: bool,
    /// Whether it is held out: weights are fitted on one half of the queries and tested on the
    /// other.
    pub(crate) held_out: bool,
}

/// The outcome of every query of a set.
pub(crate) fn outcomes(
    set: &QuerySet,
    past: usize,
    vectors: &EmbeddingCache,
    meaning: bool,
) -> Result<Vec<HitOutcome>> {
    let found = search(set, past, vectors, meaning)?;
    let each = set.asked.iter().zip(found).enumerate();
    let each = each.filter_map(|(at, (query, hits))| {
        let hit = hits.first()?;
        Some(HitOutcome {
            signs: hit.features,
            confidence: hit.confidence,
            right: query.gold.iter().any(|gold| *gold == hit.id),
            held_out: at % 2 == 1,
        })
    });
    Ok(each.collect())
}

pub(crate) fn measure(
    report: &mut BenchReport,
    sets: &[QuerySet],
    vectors: &EmbeddingCache,
) -> Result<()> {
    for set in sets {
        for past in PAST_QUERIES.into_iter().take(if set.has_past() {
            PAST_QUERIES.len()
        } else {
            1
        }) {
            for meaning in [false, true] {
                let all = outcomes(set, past, vectors, meaning)?;
                let held: Vec<&HitOutcome> = all.iter().filter(|one| one.held_out).collect();
                let how = if meaning {
                    "lexical and semantic"
                } else {
                    "lexical"
                };
                let name = format!("{}, {past} past queries, {how}", set.name);
                table(report, &name, &held);
            }
        }
    }
    for (name, calibration) in [
        ("lexical search", Calibration::WORDS),
        ("semantic search", Calibration::MEANING),
    ] {
        report.add(
            format!("bias of confidence, {name}"),
            calibration.bias,
            "",
            FigureTarget::None,
        );
    }
    Ok(())
}

fn table(report: &mut BenchReport, name: &str, held: &[&HitOutcome]) {
    for (from, to) in [(0.0, 0.5), (0.5, 0.8), (0.8, SURE), (SURE, 1.01)] {
        let inside = held
            .iter()
            .filter(|one| one.confidence >= from && one.confidence < to);
        let inside: Vec<_> = inside.collect();
        let right = inside.iter().filter(|one| one.right).count();
        let share = 100.0 * right as f64 / inside.len().max(1) as f64;
        let aim = match from == SURE && inside.len() >= COUNT_MIN {
            true => FigureTarget::Over(90.0),
            false => FigureTarget::None,
        };
        let of = format!("{name}: right of {} from {from:.2}", inside.len());
        report.add(of, share, "%", aim);
    }
}
