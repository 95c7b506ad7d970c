//! The measurements as data: each figure has a cell per program, with its samples or the reason why
//! there are none.

use crate::bench_env::TURN_S_MAX;
use anyhow::Result;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// Tramline.
    Ours,
    /// Runs in an interpreter.
    Scripted,
    /// Is compiled, like ours.
    Native,
    /// The minimal program that does the same, or the time of the disk or the memory alone.
    Limit,
}

impl ProgramKind {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Scripted => "scripted",
            Self::Native => "native",
            Self::Limit => "limit",
        }
    }
}

/// A program that does the work in turns; a turn returns a sample of each figure.
pub(crate) struct Contender<'a> {
    who: &'static str,
    kind: ProgramKind,
    turn: Option<Turn<'a>>,
    why: Option<String>,
    /// Why a figure has no sample although others have one.
    missing_reason: &'static str,
    samples: Vec<Vec<f64>>,
}

type Turn<'a> = Box<dyn FnMut() -> Result<Vec<f64>> + 'a>;

impl<'a> Contender<'a> {
    pub(crate) fn new(
        who: &'static str,
        kind: ProgramKind,
        turn: impl FnMut() -> Result<Vec<f64>> + 'a,
    ) -> Self {
        Self {
            who,
            kind,
            turn: Some(Box::new(turn)),
            why: None,
            missing_reason: "would take too long",
            samples: Vec::new(),
        }
    }

    /// The same, with the reason why some of its figures have no sample.
    pub(crate) fn without_sample(self, lacks: &'static str) -> Self {
        Self {
            missing_reason: lacks,
            ..self
        }
    }

    /// Takes one turn, unless one failed before.
    fn take_turn(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let began = Instant::now();
        match turn() {
            Ok(sample) => self.samples.push(sample),
            Err(error) => {
                let late = began.elapsed() >= Duration::from_secs(TURN_S_MAX);
                let why = match late {
                    true => format!("not done within {TURN_S_MAX} s"),
                    false => plain(&format!("{error:#}")),
                };
                eprintln!("  {}: {why}", self.who);
                self.why = Some(why);
                self.turn = None;
            }
        }
    }

    /// A program that cannot do the work, and why.
    pub(crate) fn unsupported(who: &'static str, kind: ProgramKind, why: &str) -> Self {
        Self {
            who,
            kind,
            turn: None,
            why: Some(why.to_owned()),
            missing_reason: "",
            samples: Vec::new(),
        }
    }
}

/// What a target compares ours with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Baseline {
    /// The best of the peers of this kind.
    Best(ProgramKind),
    /// The best of all peers.
    Peers,
    /// One of them.
    One(&'static str),
    /// A fixed number.
    Number(f64),
}

/// A target for our figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerTarget {
    /// The target in words.
    pub(crate) description: &'static str,
    /// What ours is compared with.
    pub(crate) against: Baseline,
    /// How many times better ours should be; below one, how much worse it may be.
    pub(crate) times: f64,
}

/// One measured quantity.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// Whether less is better.
    pub(crate) less: bool,
    pub(crate) aims: Vec<PeerTarget>,
}

impl Figure {
    /// A figure where less is better.
    pub(crate) fn less(name: impl Into<String>, unit: &'static str, aims: &[PeerTarget]) -> Self {
        Self {
            name: name.into(),
            unit,
            less: true,
            aims: aims.to_vec(),
        }
    }

    /// A figure where more is better.
    pub(crate) fn more(name: impl Into<String>, unit: &'static str, aims: &[PeerTarget]) -> Self {
        Self {
            less: false,
            ..Self::less(name, unit, aims)
        }
    }
}

/// Seconds after which no further round starts: the first round is the most informative.
const ROUNDS_S_MAX: u64 = 150;

/// All programs take turns, for `rounds` rounds; a program that fails is not tried again.
pub(crate) fn side_by_side(
    figures: &[Figure],
    mut all: Vec<Contender<'_>>,
    rounds: usize,
) -> Vec<Value> {
    let began = Instant::now();
    for round in 1..=rounds {
        for one in &mut all {
            one.take_turn();
        }
        let took = began.elapsed();
        eprintln!("  round {round} of {rounds}: {:.0} s", took.as_secs_f64());
        if took > Duration::from_secs(ROUNDS_S_MAX) {
            break;
        }
    }
    let told = figures.iter().enumerate();
    told.map(|(at, figure)| figure_json(figure, at, &all))
        .collect()
}

/// The last line of a program's output, truncated to fit in a cell.
fn plain(text: &str) -> String {
    let last = text.trim().lines().last().unwrap_or_default().trim();
    last.chars().take(160).collect()
}

fn figure_json(figure: &Figure, at: usize, all: &[Contender<'_>]) -> Value {
    let cells = all.iter().map(|one| {
        let samples: Vec<f64> = one
            .samples
            .iter()
            .filter_map(|sample| sample.get(at).copied().filter(|value| value.is_finite()))
            .collect();
        let skipped = one.samples.iter().any(|sample| sample.get(at).is_some());
        let none = if skipped { one.missing_reason } else { "–" };
        let why = samples
            .is_empty()
            .then(|| one.why.clone().unwrap_or_else(|| none.to_owned()));
        json!({ "who": one.who, "kind": one.kind.name(), "samples": samples, "why": why })
    });
    let cells: Vec<Value> = cells.collect();
    let aims = figure
        .aims
        .iter()
        .map(|aim| target_json(figure, aim, &cells));
    let aims: Vec<Value> = aims.collect();
    json!({ "name": figure.name, "unit": figure.unit, "less": figure.less, "cells": cells, "aims": aims })
}

/// Whether a target was met, by the medians.
fn target_json(figure: &Figure, aim: &PeerTarget, cells: &[Value]) -> Value {
    let of = |wanted: &dyn Fn(&Value) -> bool| {
        let found = cells.iter().filter(|cell| wanted(cell));
        let found = found.filter_map(|cell| Some((median(cell)?, cell["who"].clone())));
        found.reduce(|one, other| match (one.0 <= other.0) == figure.less {
            true => one,
            false => other,
        })
    };
    let is = |cell: &Value, kind: ProgramKind| cell["kind"] == kind.name();
    let theirs = match aim.against {
        Baseline::Best(kind) => of(&|cell| is(cell, kind)),
        Baseline::Peers => {
            of(&|cell| is(cell, ProgramKind::Scripted) || is(cell, ProgramKind::Native))
        }
        Baseline::One(who) => of(&|cell| cell["who"] == who),
        Baseline::Number(number) => Some((number, json!("the target"))),
    };
    let ours = of(&|cell| is(cell, ProgramKind::Ours));
    let pair = ours.zip(theirs);
    let times = pair.as_ref().map(|(ours, theirs)| match figure.less {
        true => theirs.0 / ours.0,
        false => ours.0 / theirs.0,
    });
    let (ours, theirs) = pair.unzip();
    json!({
        "says": aim.description, "aim": aim.times, "times": times, "met": times.map(|times| times >= aim.times),
        "ours": ours.map(|ours| ours.0), "theirs": theirs.as_ref().map(|theirs| theirs.0),
        "who": theirs.map(|theirs| theirs.1),
    })
}

/// The median of a cell's samples.
fn median(cell: &Value) -> Option<f64> {
    let samples = cell["samples"].as_array()?;
    let mut samples: Vec<f64> = samples.iter().filter_map(Value::as_f64).collect();
    samples.sort_by(f64::total_cmp);
    let upper = samples.get(samples.len() / 2)?;
    let lower = samples.get((samples.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aims_are_held_against_the_best_of_the_others() {
        let aim = |against, times| PeerTarget {
            description: "x",
            against,
            times,
        };
        let aims = [
            aim(Baseline::Best(ProgramKind::Scripted), 5.0),
            aim(Baseline::Peers, 3.0),
            aim(Baseline::Best(ProgramKind::Limit), 0.5),
            aim(Baseline::One("gone"), 1.0),
        ];
        let figures = [Figure::less("time", "us", &aims)];
        let all = vec![
            Contender::new("we", ProgramKind::Ours, || Ok(vec![2.0])),
            Contender::new("slow", ProgramKind::Scripted, || Ok(vec![20.0])),
            Contender::new("quick", ProgramKind::Native, || Ok(vec![5.0])),
            Contender::new("bare", ProgramKind::Limit, || Ok(vec![1.5])),
            Contender::new("broken", ProgramKind::Native, || anyhow::bail!("one\ntwo")),
            Contender::unsupported("gone", ProgramKind::Native, "has none"),
        ];
        let told = side_by_side(&figures, all, 3);
        let met: Vec<&Value> = told[0]["aims"]
            .as_array()
            .unwrap()
            .iter()
            .map(|aim| &aim["met"])
            .collect();
        assert_eq!(
            met,
            [&json!(true), &json!(false), &json!(true), &json!(null)]
        );
        assert_eq!(told[0]["cells"][0]["samples"], json!([2.0, 2.0, 2.0]));
        assert_eq!(told[0]["cells"][4]["why"], "two");
        assert_eq!(told[0]["cells"][5]["why"], "has none");
    }

    #[test]
    fn more_is_better_where_the_figure_says_so() {
        let aims = [PeerTarget {
            description: "x",
            against: Baseline::Peers,
            times: 10.0,
        }];
        let all = vec![
            Contender::new("we", ProgramKind::Ours, || Ok(vec![100.0])),
            Contender::new("slow", ProgramKind::Scripted, || Ok(vec![8.0])),
        ];
        let told = side_by_side(&[Figure::more("rate", "/s", &aims)], all, 1);
        assert_eq!(told[0]["aims"][0]["met"], true);
    }
}
