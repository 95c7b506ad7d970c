//! What was measured, as data: a figure has a cell for everybody, with all its samples or with why not.

use anyhow::Result;
use serde_json::{Value, json};

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
            samples: Vec::new(),
        }
    }

    /// One that cannot do the work, and why.
    pub(crate) fn cannot(who: &'static str, kind: Kind, why: &str) -> Self {
        Self {
            who,
            kind,
            turn: None,
            why: Some(why.to_owned()),
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

/// Everybody does the work turn about, so many rounds; what fails once is not tried again.
pub(crate) fn side_by_side(
    figures: &[Figure],
    mut all: Vec<Contender<'_>>,
    rounds: usize,
) -> Vec<Value> {
    for round in 0..rounds {
        for one in &mut all {
            let Some(turn) = &mut one.turn else { continue };
            match turn() {
                Ok(sample) => one.samples.push(sample),
                Err(error) => {
                    let why = plain(&format!("{error:#}"));
                    eprintln!("  {}: {why}", one.who);
                    one.why = Some(why);
                    one.turn = None;
                }
            }
        }
        eprint!("  round {} of {rounds}\r", round + 1);
    }
    eprintln!();
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
        let none = if skipped {
            "would take too long"
        } else {
            "–"
        };
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
        let found = cells.iter().filter(|cell| wanted(cell)).filter_map(median);
        match figure.less {
            true => found.reduce(f64::min),
            false => found.reduce(f64::max),
        }
    };
    let is = |cell: &Value, kind: Kind| cell["kind"] == kind.name();
    let theirs = match aim.against {
        Against::Best(kind) => of(&|cell| is(cell, kind)),
        Against::Peers => of(&|cell| is(cell, Kind::Scripted) || is(cell, Kind::Native)),
        Against::One(who) => of(&|cell| cell["who"] == who),
        Against::Number(number) => Some(number),
    };
    let ours = of(&|cell| is(cell, Kind::Ours));
    let times = ours.zip(theirs).map(|(ours, theirs)| match figure.less {
        true => theirs / ours,
        false => ours / theirs,
    });
    json!({ "says": aim.says, "aim": aim.times, "times": times, "met": times.map(|times| times >= aim.times) })
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
