//! Decides which task waits for which: for its data, because precedents show it, or because the request implies it.

use super::context::{PlanContext, ToolIx};
use super::draft::{ArgumentSource, DraftTask};
use tramline_expr::{Str, Value};

/// Two tasks get an edge if one waited for the other in at least this share of the precedents that contain both.
const WAIT_SHARE_MIN: f64 = 0.5;
/// How often two tools must have been used together before a missing edge counts.
const SEEN_MIN: u32 = 2;

/// Why one task waits for another.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EdgeCause {
    /// It needs these arguments from the other's output.
    Data(Vec<Str>),
    /// It waited in this share of the precedents that contain both.
    Precedents(f64),
    /// The request names them in this order.
    RequestOrder,
}

/// The predecessors of each task. All of them come earlier in the plan.
pub(super) fn predecessors(
    scene: &PlanContext<'_>,
    drafts: &[DraftTask],
) -> Vec<Vec<(usize, EdgeCause)>> {
    let mut edges: Vec<Vec<(usize, EdgeCause)>> = Vec::new();
    for at in 0..drafts.len() {
        let mut before: Vec<(usize, EdgeCause)> = Vec::new();
        for other in 0..at {
            let given = data_arguments(&drafts[at], other);
            let usual = wait_share(scene, &drafts[other], &drafts[at]);
            if !given.is_empty() {
                before.push((other, EdgeCause::Data(given)));
            } else if let Some(share) = usual.filter(|share| *share >= WAIT_SHARE_MIN) {
                before.push((other, EdgeCause::Precedents(share)));
            }
        }
        if before.is_empty() && at > 0 && !are_independent(scene, &drafts[at - 1], &drafts[at]) {
            before.push((at - 1, EdgeCause::RequestOrder));
        }
        edges.push(before);
    }
    edges
}

/// The arguments that one task takes from another.
fn data_arguments(draft: &DraftTask, other: usize) -> Vec<Str> {
    let feeds = draft.inputs.iter();
    let given = feeds.filter(|(_, giver, ..)| *giver == ArgumentSource::Task(other));
    given.map(|(name, ..)| name.clone()).collect()
}

/// The share of precedents in which one waited for the other, of those that contain both in this order: among the
/// nearest precedents, or else among all.
fn wait_share(scene: &PlanContext<'_>, one: &DraftTask, other: &DraftTask) -> Option<f64> {
    let (from, to) = (one.candidate?, other.candidate?);
    let has = |tools: &[ToolIx]| {
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
    let numbers = scene
        .candidate(from)
        .number
        .zip(scene.candidate(to).number)?;
    let (linked, seen) = scene.precedents.wait_counts(numbers.0, numbers.1);
    (seen >= SEEN_MIN).then(|| f64::from(linked) / f64::from(seen))
}

/// Whether two tasks are known to be independent: they never waited for each other, or both are read-only and declare
/// an output schema.
fn are_independent(scene: &PlanContext<'_>, one: &DraftTask, other: &DraftTask) -> bool {
    if let Some(share) = wait_share(scene, one, other) {
        return share < WAIT_SHARE_MIN;
    }
    let reads = |draft: &DraftTask| {
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
