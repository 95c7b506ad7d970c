//! Which task waits for which: for its data, because it was always so, or because it is said so.

use super::draft::{Draft, Giver};
use super::scene::{Place, Scene};
use tramline_core::{Str, Value};

/// A pair that waited for each other in so many of the executions that have both is an edge.
const USUAL: f64 = 0.5;
/// So often two were seen together before it counts that neither waited.
const SEEN_MIN: u32 = 2;

/// Why one task waits for another.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Because {
    /// It needs what the other gives.
    Gives(Vec<Str>),
    /// So it was in this share of the past executions that have both.
    Usual(f64),
    /// The wish says them in this order.
    Said,
}

/// What each task waits for, all of it before the task itself.
pub(super) fn all(scene: &Scene<'_>, drafts: &[Draft]) -> Vec<Vec<(usize, Because)>> {
    let mut edges: Vec<Vec<(usize, Because)>> = Vec::new();
    for at in 0..drafts.len() {
        let mut before: Vec<(usize, Because)> = Vec::new();
        for other in 0..at {
            let given = given(&drafts[at], other);
            let usual = usual(scene, &drafts[other], &drafts[at]);
            if !given.is_empty() {
                before.push((other, Because::Gives(given)));
            } else if let Some(share) = usual.filter(|share| *share >= USUAL) {
                before.push((other, Because::Usual(share)));
            }
        }
        if before.is_empty() && at > 0 && !apart(scene, &drafts[at - 1], &drafts[at]) {
            before.push((at - 1, Because::Said));
        }
        edges.push(before);
    }
    edges
}

/// The arguments that one task gets from another.
fn given(draft: &Draft, other: usize) -> Vec<Str> {
    let feeds = draft.feeds.iter();
    let given = feeds.filter(|(_, giver, ..)| *giver == Giver::Task(other));
    given.map(|(name, ..)| name.clone()).collect()
}

/// In what share of past executions one waited for the other, of those that have both in this order: the
/// nearest ones, or else all.
fn usual(scene: &Scene<'_>, one: &Draft, other: &Draft) -> Option<f64> {
    let (from, to) = (one.place?, other.place?);
    let has = |tools: &[Place]| {
        let at = tools.iter().position(|place| *place == from);
        at.is_some_and(|at| tools[at + 1..].contains(&to))
    };
    let both: Vec<_> = scene
        .voters
        .iter()
        .filter(|voter| has(&voter.tools))
        .collect();
    let all: f64 = both.iter().map(|voter| voter.share).sum();
    if all > 0.0 {
        let linked = both
            .iter()
            .filter(|voter| voter.edges.contains(&(from, to)));
        return Some(linked.map(|voter| voter.share).sum::<f64>() / all);
    }
    let numbers = scene.seen(from).number.zip(scene.seen(to).number)?;
    let (linked, seen) = scene.past.linked(numbers.0, numbers.1);
    (seen >= SEEN_MIN).then(|| f64::from(linked) / f64::from(seen))
}

/// Whether it is known that two tasks need not wait for each other: they never did, or both only read and
/// each says what it gives.
fn apart(scene: &Scene<'_>, one: &Draft, other: &Draft) -> bool {
    if let Some(share) = usual(scene, one, other) {
        return share < USUAL;
    }
    let reads = |draft: &Draft| {
        let told = draft.tool.output_schema.as_ref().is_some_and(|schema| {
            schema
                .get("properties")
                .and_then(Value::as_object)
                .is_some()
        });
        draft.tool.hints.read_only == Some(true) && told
    };
    reads(one) && reads(other)
}
