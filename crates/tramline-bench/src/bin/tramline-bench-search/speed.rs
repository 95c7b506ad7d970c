//! How long a search takes over few and many tools, how long an index takes to build, what it holds.

use crate::report::{Aim, Report};
use crate::sets::Set;
use crate::vectors::Vectors;
use anyhow::Result;
use std::time::Instant;
use tramline_engine::search::{Card, Index, Vector};

/// How many queries are timed.
const QUERIES: usize = 300;

/// By how many tools, what is aimed at in microseconds: by words, and by meaning too.
const AIMS: [(usize, Option<f64>, Option<f64>); 3] = [
    (100, None, None),
    (1_000, Some(300.0), None),
    (10_000, Some(1_000.0), Some(5_000.0)),
];

pub(crate) fn measure(report: &mut Report, sets: &[Set], vectors: &Vectors) -> Result<()> {
    let asked = sets
        .iter()
        .flat_map(|set| set.asked.iter().take(QUERIES / sets.len()));
    let asked: Vec<&str> = asked.map(|query| query.text.as_str()).collect();
    for (count, words, meaning) in AIMS {
        let cards = many(sets, vectors, count);
        let under = |aim: Option<f64>| aim.map_or(Aim::None, Aim::Under);
        let began = Instant::now();
        let index = build(&cards, false)?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        let name = |what: &str| format!("{count} tools: {what}");
        report.add(name("building the index"), took, "ms", Aim::None);
        report.add(
            name("a search by words"),
            time(&index, &asked, None),
            "µs",
            under(words),
        );
        let index = build(&cards, true)?;
        let took = time(&index, &asked, Some(vectors));
        report.add(
            name("a search by words and meaning"),
            took,
            "µs",
            under(meaning),
        );
        let mib = index.bytes() as f64 / 1_048_576.0;
        report.add(name("memory, with vectors"), mib, "MiB", Aim::None);
        let mut index = index;
        report.add(
            name("replacing a card"),
            replace(&mut index, &cards)?,
            "µs",
            Aim::None,
        );
    }
    Ok(())
}

fn build(cards: &[(Card, Option<Vector>)], meaning: bool) -> Result<Index> {
    let mut index = Index::new();
    for (card, vector) in cards {
        index.put(card.clone(), vector.as_ref().filter(|_| meaning))?;
    }
    Ok(index)
}

fn replace(index: &mut Index, cards: &[(Card, Option<Vector>)]) -> Result<f64> {
    let some = || cards.iter().step_by((cards.len() / 100).max(1));
    let began = Instant::now();
    for (card, vector) in some() {
        index.put(card.clone(), vector.as_ref())?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / some().count() as f64)
}

/// What a search takes on average, in microseconds; of each query the best of five turns, since
/// the machine does other things too.
fn time(index: &Index, asked: &[&str], vectors: Option<&Vectors>) -> f64 {
    let turn = |text: &str| {
        let vector = vectors.and_then(|vectors| vectors.get(text));
        let began = Instant::now();
        std::hint::black_box(index.search(text, vector, 10));
        began.elapsed().as_secs_f64() * 1e6
    };
    let best = |text: &&str| (0..5).map(|_| turn(text)).fold(f64::INFINITY, f64::min);
    asked.iter().map(best).sum::<f64>() / asked.len() as f64
}

/// As many tools as wanted, each with ten past wishes where there are any: real ones, and after
/// them mixtures of two.
fn many(sets: &[Set], vectors: &Vectors, count: usize) -> Vec<(Card, Option<Vector>)> {
    let real: Vec<Card> = sets.iter().flat_map(|set| set.cards(10)).collect();
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
                .map(|(a, b)| Vector::of_card(&a, &[b])),
        };
        (card, vector)
    };
    (0..count).map(mixed).collect()
}
