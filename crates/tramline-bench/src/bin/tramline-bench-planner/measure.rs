//! How close plans are to the right ones, and whether their confidence is accurate.

use crate::sets::{PlanCase, RequestSet, past};
use std::collections::BTreeSet;
use std::time::Instant;
use tramline_expr::{Str, Value};
use tramline_planner::planner::{PrecedentIndex, TaskPlan};

/// A plan compared with the right one.
#[derive(Clone, Copy, Default)]
pub(crate) struct PlanOutcome {
    pub(crate) nodes: f64,
    pub(crate) edges: f64,
    pub(crate) exact: bool,
    pub(crate) confidence: f64,
}

/// Means over many requests, in percent.
pub(crate) struct PlanFigures {
    pub(crate) nodes: f64,
    pub(crate) edges: f64,
    pub(crate) exact: f64,
    pub(crate) ms: f64,
}

fn f1_score<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    match one.len() + other.len() {
        0 => 1.0,
        all => 2.0 * one.intersection(other).count() as f64 / all as f64,
    }
}

fn outcome(
    case: &PlanCase,
    tools: &[Str],
    edges: &BTreeSet<(Str, Str)>,
    confidence: f64,
) -> PlanOutcome {
    let nodes: BTreeSet<&Str> = tools.iter().collect();
    let right: BTreeSet<&Str> = case.tools.iter().collect();
    let mut counted = (tools.to_vec(), case.tools.clone());
    counted.0.sort();
    counted.1.sort();
    PlanOutcome {
        nodes: f1_score(&nodes, &right),
        edges: f1_score(edges, &case.edges),
        exact: counted.0 == counted.1 && (!case.ordered || *edges == case.edges),
        confidence,
    }
}

/// Compares a plan with the right one.
pub(crate) fn planned(case: &PlanCase, plan: &TaskPlan) -> PlanOutcome {
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

/// Plans all given requests with some precedents.
pub(crate) fn with_past(
    set: &RequestSet,
    asked: &[&PlanCase],
    past: &PrecedentIndex,
) -> (Vec<PlanOutcome>, f64) {
    let began = Instant::now();
    let plans = asked
        .iter()
        .map(|case| planned(case, &set.plan(case, past)));
    let all: Vec<PlanOutcome> = plans.collect();
    (
        all,
        began.elapsed().as_secs_f64() * 1_000.0 / asked.len().max(1) as f64,
    )
}

/// The top search hits as a chain.
pub(crate) fn chain(set: &RequestSet, asked: &[&PlanCase], most: usize) -> Vec<PlanOutcome> {
    let plan = |case: &&PlanCase| chained(case, &set.top(case, most));
    asked.iter().map(plan).collect()
}

/// Compares a chain of tools with the right plan.
pub(crate) fn chained(case: &PlanCase, tools: &[Str]) -> PlanOutcome {
    let pairs = tools.windows(2);
    let edges = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
    outcome(case, tools, &edges.collect(), 0.0)
}

pub(crate) fn figures(all: &[PlanOutcome], ms: f64) -> PlanFigures {
    let mean = |of: fn(&PlanOutcome) -> f64| {
        100.0 * all.iter().map(of).sum::<f64>() / all.len().max(1) as f64
    };
    PlanFigures {
        nodes: mean(|one| one.nodes),
        edges: mean(|one| one.edges),
        exact: mean(|one| f64::from(u8::from(one.exact))),
        ms,
    }
}

/// Cross-validation: each fold is planned with the other folds as precedents.
pub(crate) fn cross_validated(set: &RequestSet, folds: usize) -> (Vec<PlanOutcome>, f64) {
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
        let asked: Vec<&PlanCase> = asked.map(|(_, case)| case).collect();
        let (outcomes, ms) = with_past(set, &asked, &past);
        all.extend(outcomes);
        spent += ms / folds as f64;
    }
    (all, spent)
}
