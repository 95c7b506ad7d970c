//! How many of the right tools are among the first hits.

use crate::PAST_QUERIES;
use crate::report::{BenchReport, FigureTarget};
use crate::sets::QuerySet;
use crate::vectors::EmbeddingCache;
use anyhow::Result;
use tramline_catalog::search::SearchHit;

/// Targets for the first five hits, in percent: set, past queries, lexical and semantic search.
const AIMS: &[(&str, usize, f64, f64)] = &[
    ("LiveMCP", 0, 36.0, 43.0),
    ("MetaTool", 0, 62.0, 74.0),
    ("MetaTool", 10, 85.0, 85.0),
    ("MetaTool", 30, 90.0, 90.0),
];

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
                let found = search(set, past, vectors, meaning)?;
                let aims = AIMS.iter().find(|aim| aim.0 == set.name && aim.1 == past);
                let aim = aims.map(|aim| if meaning { aim.3 } else { aim.2 });
                let how = if meaning {
                    "lexical and semantic"
                } else {
                    "lexical"
                };
                for first in [1, 5, 10] {
                    let aim = aim
                        .filter(|_| first == 5)
                        .map_or(FigureTarget::None, FigureTarget::Over);
                    let name = format!("{}, {past} past queries, {how}, first {first}", set.name);
                    report.add(name, share(set, &found, first), "%", aim);
                }
            }
        }
    }
    Ok(())
}

/// The hits of every query of a set.
pub(crate) fn search(
    set: &QuerySet,
    past: usize,
    vectors: &EmbeddingCache,
    meaning: bool,
) -> Result<Vec<Vec<SearchHit>>> {
    let index = set.index(past, |card| meaning.then(|| vectors.of(card)).flatten())?;
    let each = |text: &str| {
        let vector = meaning.then(|| vectors.get(text)).flatten();
        index.search(text, vector, 10)
    };
    Ok(set.asked.iter().map(|query| each(&query.text)).collect())
}

/// The mean share of right tools among the first hits.
fn share(set: &QuerySet, found: &[Vec<SearchHit>], first: usize) -> f64 {
    let shares = set.asked.iter().zip(found).map(|(query, hits)| {
        let is_right = |hit: &&SearchHit| query.gold.iter().any(|gold| *gold == hit.id);
        let right = hits.iter().take(first).filter(is_right).count();
        right as f64 / query.gold.len().max(1) as f64
    });
    100.0 * shares.sum::<f64>() / set.asked.len().max(1) as f64
}
