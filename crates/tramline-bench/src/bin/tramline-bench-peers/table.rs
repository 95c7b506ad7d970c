//! What was measured, as data: a figure has a cell for everybody, with all its samples or with why not.

use crate::place::TURN_S_MAX;
use anyhow::Result;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What somebody is, beside us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tramline.
    Ours,
    /// Runs in an interpreter.
    Scripted,
    /// Is compiled, as ours is.
    Native,
    /// The barest program that does the same, or what the disk or the memory takes.
    Limit,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Scripted => "scripted",
            Self::Native => "native",
            Self::Limit => "limit",
        }
    }
}

/// One that does the work, a turn at a time; a turn gives a sample of each figure.
pub(crate) struct Contender<'a> {
    who: &'static str,
    kind: Kind,
    turn: Option<Turn<'a>>,
    why: Option<String>,
    /// Why a figure has no sample where others have one.
    lacks: &'static str,
    samples: Vec<Vec<f64>>,
}

type Turn<'a> = Box<dyn FnMut() -> Result<Vec<f64>> + 'a>;

impl<'a> Contender<'a> {
    pub(crate) fn new(
        who: &'static str,
        kind: Kind,
        turn: impl FnMut() -> Result<Vec<f64>> + 'a,
    ) -> Self {
        Self {
            who,
            kind,
            turn: Some(Box::new(turn)),
            why: None,
            lacks: "would take too long",
            samples: Vec::new(),
        }
    }

    /// The same, with why some of its figures have no sample.
    pub(crate) fn lacking(self, lacks: &'static str) -> Self {
        Self { lacks, ..self }
    }

    /// One turn, unless one failed before.
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

    /// One that cannot do the work, and why.
    pub(crate) fn cannot(who: &'static str, kind: Kind, why: &str) -> Self {
        Self {
            who,
            kind,
            turn: None,
            why: Some(why.to_owned()),
            lacks: "",
            samples: Vec::new(),
        }
    }
}

/// What an aim compares ours with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Against {
    /// The best of the peers of this kind.
    Best(Kind),
    /// The best of all peers.
    Peers,
    /// One of them.
    One(&'static str),
    /// A number, and not somebody.
    Number(f64),
}

/// What ours should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    /// The aim in words.
    pub(crate) says: &'static str,
    /// Whom ours is compared with.
    pub(crate) against: Against,
    /// How many times better ours should be; under one, it may be so much worse.
    pub(crate) times: f64,
}

/// One thing that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// Whether less is better.
    pub(crate) less: bool,
    pub(crate) aims: Vec<Aim>,
}

impl Figure {
    /// A figure that is better when it is less.
    pub(crate) fn less(name: impl Into<String>, unit: &'static str, aims: &[Aim]) -> Self {
        Self {
            name: name.into(),
            unit,
            less: true,
            aims: aims.to_vec(),
        }
    }

    /// A figure that is better when it is more.
    pub(crate) fn more(name: impl Into<String>, unit: &'static str, aims: &[Aim]) -> Self {
        Self {
            less: false,
            ..Self::less(name, unit, aims)
        }
    }
}

/// After so long no further round of a work is begun: the first round tells the most.
const ROUNDS_S_MAX: u64 = 150;

/// Everybody does the work turn about, so many rounds; what fails once is not tried again.
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
    told.map(|(at, figure)| tell(figure, at, &all)).collect()
}

/// The last line of what a program said, and no more of it than fits in a cell.
fn plain(text: &str) -> String {
    let last = text.trim().lines().last().unwrap_or_default().trim();
    last.chars().take(160).collect()
}

fn tell(figure: &Figure, at: usize, all: &[Contender<'_>]) -> Value {
    let cells = all.iter().map(|one| {
        let samples: Vec<f64> = one
            .samples
            .iter()
            .filter_map(|sample| sample.get(at).copied().filter(|value| value.is_finite()))
            .collect();
        let skipped = one.samples.iter().any(|sample| sample.get(at).is_some());
        let none = if skipped { one.lacks } else { "–" };
        let why = samples
            .is_empty()
            .then(|| one.why.clone().unwrap_or_else(|| none.to_owned()));
        json!({ "who": one.who, "kind": one.kind.name(), "samples": samples, "why": why })
    });
    let cells: Vec<Value> = cells.collect();
    let aims = figure.aims.iter().map(|aim| hold(figure, aim, &cells));
    let aims: Vec<Value> = aims.collect();
    json!({ "name": figure.name, "unit": figure.unit, "less": figure.less, "cells": cells, "aims": aims })
}

/// Whether an aim was met, by the medians.
fn hold(figure: &Figure, aim: &Aim, cells: &[Value]) -> Value {
    let of = |wanted: &dyn Fn(&Value) -> bool| {
        let found = cells.iter().filter(|cell| wanted(cell));
        let found = found.filter_map(|cell| Some((median(cell)?, cell["who"].clone())));
        found.reduce(|one, other| match (one.0 <= other.0) == figure.less {
            true => one,
            false => other,
        })
    };
    let is = |cell: &Value, kind: Kind| cell["kind"] == kind.name();
    let theirs = match aim.against {
        Against::Best(kind) => of(&|cell| is(cell, kind)),
        Against::Peers => of(&|cell| is(cell, Kind::Scripted) || is(cell, Kind::Native)),
        Against::One(who) => of(&|cell| cell["who"] == who),
        Against::Number(number) => Some((number, json!("the aim"))),
    };
    let ours = of(&|cell| is(cell, Kind::Ours));
    let pair = ours.zip(theirs);
    let times = pair.as_ref().map(|(ours, theirs)| match figure.less {
        true => theirs.0 / ours.0,
        false => ours.0 / theirs.0,
    });
    let (ours, theirs) = pair.unzip();
    json!({
        "says": aim.says, "aim": aim.times, "times": times, "met": times.map(|times| times >= aim.times),
        "ours": ours.map(|ours| ours.0), "theirs": theirs.as_ref().map(|theirs| theirs.0),
        "who": theirs.map(|theirs| theirs.1),
    })
}

/// The middle of a cell's samples; of two, the middle between them.
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
        let aim = |against, times| Aim {
            says: "x",
            against,
            times,
        };
        let aims = [
            aim(Against::Best(Kind::Scripted), 5.0),
            aim(Against::Peers, 3.0),
            aim(Against::Best(Kind::Limit), 0.5),
            aim(Against::One("gone"), 1.0),
        ];
        let figures = [Figure::less("time", "us", &aims)];
        let all = vec![
            Contender::new("we", Kind::Ours, || Ok(vec![2.0])),
            Contender::new("slow", Kind::Scripted, || Ok(vec![20.0])),
            Contender::new("quick", Kind::Native, || Ok(vec![5.0])),
            Contender::new("bare", Kind::Limit, || Ok(vec![1.5])),
            Contender::new("broken", Kind::Native, || anyhow::bail!("one\ntwo")),
            Contender::cannot("gone", Kind::Native, "has none"),
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
        let aims = [Aim {
            says: "x",
            against: Against::Peers,
            times: 10.0,
        }];
        let all = vec![
            Contender::new("we", Kind::Ours, || Ok(vec![100.0])),
            Contender::new("slow", Kind::Scripted, || Ok(vec![8.0])),
        ];
        let told = side_by_side(&[Figure::more("rate", "/s", &aims)], all, 1);
        assert_eq!(told[0]["aims"][0]["met"], true);
    }
}
