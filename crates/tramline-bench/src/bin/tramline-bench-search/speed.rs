//! The time of a search over few and many tools, the time to build an index, and its memory.

use crate::report::{BenchReport, FigureTarget};
use crate::sets::QuerySet;
use crate::vectors::EmbeddingCache;
use anyhow::Result;
use std::time::Instant;
use tramline_catalog::search::{SearchDocument, SearchIndex, Vector};

/// Number of timed queries.
const QUERIES: usize = 300;

/// Targets in microseconds by number of tools: lexical, and with semantic search.
const AIMS: [(usize, Option<f64>, Option<f64>); 3] = [
    (100, None, None),
    (1_000, Some(300.0), None),
    (10_000, Some(1_000.0), Some(5_000.0)),
];

pub(crate) fn measure(
    report: &mut BenchReport,
    sets: &[QuerySet],
    vectors: &EmbeddingCache,
) -> Result<()> {
    let asked = sets
        .iter()
        .flat_map(|set| set.asked.iter().take(QUERIES / sets.len()));
    let asked: Vec<&str> = asked.map(|query| query.text.as_str()).collect();
    for (count, words, meaning) in AIMS {
        let cards = many(sets, vectors, count);
        let under = |aim: Option<f64>| aim.map_or(FigureTarget::None, FigureTarget::Under);
        let began = Instant::now();
        let index = build(&cards, false)?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        let name = |what: &str| format!("{count} tools: {what}");
        report.add(name("building the index"), took, "ms", FigureTarget::None);
        report.add(
            name("a lexical search"),
            time(&index, &asked, None),
            "µs",
            under(words),
        );
        let index = build(&cards, true)?;
        let took = time(&index, &asked, Some(vectors));
        report.add(
            name("a lexical and semantic search"),
            took,
            "µs",
            under(meaning),
        );
        let mib = index.bytes() as f64 / 1_048_576.0;
        report.add(name("memory, with vectors"), mib, "MiB", FigureTarget::None);
        let mut index = index;
        report.add(
            name("replacing a document"),
            replace(&mut index, &cards)?,
            "µs",
            FigureTarget::None,
        );
    }
    Ok(())
}

fn build(cards: &[(SearchDocument, Option<Vector>)], meaning: bool) -> Result<SearchIndex> {
    let mut index = SearchIndex::new();
    for (card, vector) in cards {
        index.put(card.clone(), vector.as_ref().filter(|_| meaning))?;
    }
    Ok(index)
}

fn replace(index: &mut SearchIndex, cards: &[(SearchDocument, Option<Vector>)]) -> Result<f64> {
    let some = || cards.iter().step_by((cards.len() / 100).max(1));
    let began = Instant::now();
    for (card, vector) in some() {
        index.put(card.clone(), vector.as_ref())?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / some().count() as f64)
}

/// The mean time of a search in microseconds; for each query the best of five turns, because of
/// other load on the machine.
fn time(index: &SearchIndex, asked: &[&str], vectors: Option<&EmbeddingCache>) -> f64 {
    let turn = |text: &str| {
        let vector = vectors.and_then(|vectors| vectors.get(text));
        let began = Instant::now();
        std::hint::black_box(index.search(text, vector, 10));
        began.elapsed().as_secs_f64() * 1e6
    };
    let best = |text: &&str| (0..5).map(|_| turn(text)).fold(f64::INFINITY, f64::min);
    asked.iter().map(best).sum::<f64>() / asked.len() as f64
}

/// `count` tools, each with up to ten past queries: real ones first, then mixtures of two.
fn many(
    sets: &[QuerySet],
    vectors: &EmbeddingCache,
    count: usize,
) -> Vec<(SearchDocument, Option<Vector>)> {
    let real: Vec<SearchDocument> = sets.iter().flat_map(|set| set.cards(10)).collect();
    let mixed = |at: usize| {
        let (turn, one) = (at / real.len(), &real[at % real.len()]);
        let other = &real[(at * 7 + turn * 131) % real.len()];
        let mut card = one.clone();
        if turn > 0 {
            let half = |text: &str, second: bool| {
                let words: Vec<&str> = text.split_whitespace().collect();
                let (a, b) = words.split_at(words.len() / 2);
                (if second { b } else { a }).join(" ")
            };
            let said = format!(
                "{} {}",
                half(&one.description, false),
                half(&other.description, true)
            );
            card.description = said.into();
            card.name = format!("{}_{}_{turn}", one.name, other.name).into();
            card.id = format!("{}:{}", one.server, card.name).into();
        }
        let own = vectors.of(one);
        let vector = match turn {
            0 => own,
            _ => own
                .zip(vectors.of(other))
                .map(|(a, b)| Vector::of_document(&a, &[b])),
        };
        (card, vector)
    };
    (0..count).map(mixed).collect()
}
