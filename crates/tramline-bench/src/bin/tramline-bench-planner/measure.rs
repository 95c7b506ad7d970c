//! How near plans come to the right ones, and whether they are as sure as they say.

use crate::sets::{Case, Set, past};
use std::collections::BTreeSet;
use std::time::Instant;
use tramline_core::{Str, Value};
use tramline_engine::planner::{Past, Plan};

/// A plan next to the right one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) nodes: f64,
    pub(crate) edges: f64,
    pub(crate) exact: bool,
    pub(crate) confidence: f64,
}

/// Outcomes of many requests, in hundredths.
pub(crate) struct Figures {
    pub(crate) nodes: f64,
    pub(crate) edges: f64,
    pub(crate) exact: f64,
    pub(crate) ms: f64,
}

fn likeness<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    match one.len() + other.len() {
        0 => 1.0,
        all => 2.0 * one.intersection(other).count() as f64 / all as f64,
    }
}

fn outcome(case: &Case, tools: &[Str], edges: &BTreeSet<(Str, Str)>, confidence: f64) -> Outcome {
    let nodes: BTreeSet<&Str> = tools.iter().collect();
    let right: BTreeSet<&Str> = case.tools.iter().collect();
    let mut counted = (tools.to_vec(), case.tools.clone());
    counted.0.sort();
    counted.1.sort();
    Outcome {
        nodes: likeness(&nodes, &right),
        edges: likeness(edges, &case.edges),
        exact: counted.0 == counted.1 && (!case.ordered || *edges == case.edges),
        confidence,
    }
}

/// What a plan came to.
pub(crate) fn planned(case: &Case, plan: &Plan) -> Outcome {
    let text = |task: &Value, key: &str| {
        Str::from(task.get(key).and_then(Value::as_str).unwrap_or_default())
    };
    let tasks = plan.tasks.as_array().unwrap_or_default();
    let tool = |id: &Str| {
        tasks
            .iter()
            .find(|task| text(task, "id") == *id)
            .map(|task| text(task, "tool"))
    };
    let links = plan.links.iter();
    let edges = links.filter_map(|link| Some((tool(&link.from)?, tool(&link.to)?)));
    let tools: Vec<Str> = tasks.iter().map(|task| text(task, "tool")).collect();
    outcome(case, &tools, &edges.collect(), plan.confidence)
}

/// All requests that are held out, with some past.
pub(crate) fn with_past(set: &Set, asked: &[&Case], past: &Past) -> (Vec<Outcome>, f64) {
    let began = Instant::now();
    let plans = asked
        .iter()
        .map(|case| planned(case, &set.plan(case, past)));
    let all: Vec<Outcome> = plans.collect();
    (
        all,
        began.elapsed().as_secs_f64() * 1_000.0 / asked.len().max(1) as f64,
    )
}

/// The best tools that were found, as a chain.
pub(crate) fn chain(set: &Set, asked: &[&Case], most: usize) -> Vec<Outcome> {
    let plan = |case: &&Case| chained(case, &set.top(case, most));
    asked.iter().map(plan).collect()
}

/// What tools come to, one after the other.
pub(crate) fn chained(case: &Case, tools: &[Str]) -> Outcome {
    let pairs = tools.windows(2);
    let edges = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
    outcome(case, tools, &edges.collect(), 0.0)
}

pub(crate) fn figures(all: &[Outcome], ms: f64) -> Figures {
    let mean =
        |of: fn(&Outcome) -> f64| 100.0 * all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    Figures {
        nodes: mean(|one| one.nodes),
        edges: mean(|one| one.edges),
        exact: mean(|one| f64::from(u8::from(one.exact))),
        ms,
    }
}

/// A set whose requests are all held out, each planned with the others' fifths as past.
pub(crate) fn folded(set: &Set, folds: usize) -> (Vec<Outcome>, f64) {
    let (mut all, mut spent) = (Vec::new(), 0.0);
    for fold in 0..folds {
        let others = set
            .asked
            .iter()
            .enumerate()
            .filter(|(at, _)| at % folds != fold);
        let past = past(others.map(|(_, case)| case));
        let asked = set
            .asked
            .iter()
            .enumerate()
            .filter(|(at, _)| at % folds == fold);
        let asked: Vec<&Case> = asked.map(|(_, case)| case).collect();
        let (outcomes, ms) = with_past(set, &asked, &past);
        all.extend(outcomes);
        spent += ms / folds as f64;
    }
    (all, spent)
}
