//! Compares two runs: which steps they share, and where they differ.

use crate::trace::{Trace, TraceStep};
use serde::Serialize;
use std::collections::BTreeMap;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::ids::{Seq, StepNo};

/// Differences reported per value; further ones are omitted to keep the comparison readable.
const PLACES_MAX: usize = 20;
/// Nesting depth to which values are compared; deeper differences are reported as one.
const DEPTH_MAX: usize = 64;

/// How two runs differ.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Whether the runs are equal.
    pub same: bool,
    /// Which run is a fork of the other, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<ForkRelation>,
    /// The number of equal steps.
    pub alike: usize,
    /// Differences between the inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<ValueDifference>,
    /// The steps that differ: those of the first run in its order, then those that only the second
    /// has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepDifference>,
    /// Differences between the outcomes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<ValueDifference>,
}

/// Which of two runs was forked from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ForkRelation {
    /// The fork: `first` or `second`.
    pub which: &'static str,
    /// The event of the other run after which the fork starts.
    pub seq: Seq,
}

/// A step that differs.
#[derive(Clone, Debug, Serialize)]
pub struct StepDifference {
    /// The step's node.
    pub node: Str,
    /// The number of the visit to the node, from 1.
    pub visit: usize,
    /// The fan-out item, if the step is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// `changed`, `only in the first` or `only in the second`.
    pub how: &'static str,
    /// What differs: `input`, `expression`, `label`, `output` or `error`, with the locations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartDifference>,
}

/// One part of a step that differs.
#[derive(Clone, Debug, Serialize)]
pub struct PartDifference {
    /// The name of the part.
    pub part: &'static str,
    /// The locations in the part that differ.
    pub places: Vec<ValueDifference>,
}

/// One location at which two values differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueDifference {
    /// The JSON pointer; empty for the whole value.
    pub at: String,
    /// The value in the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Value>,
    /// The value in the second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Value>,
}

/// A step of one run next to the matching step of the other.
#[derive(Clone, Debug, Serialize)]
pub struct StepPair {
    /// The step's node.
    pub node: Str,
    /// The number of the visit to the node, from 1.
    pub visit: usize,
    /// The fan-out item, if the step is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Whether both runs took the step in the same way.
    pub same: bool,
    /// The step in the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<StepSide>,
    /// The step in the second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<StepSide>,
    /// The parts that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartDifference>,
}

/// A step of one of the two runs.
#[derive(Clone, Debug, Serialize)]
pub struct StepSide {
    /// The step number in that run.
    pub step: StepNo,
    /// The status of the step.
    pub status: &'static str,
    /// The duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The label the step picked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
}

type StepKey = (Str, Option<u32>, usize);

/// Compares two runs step by step. Steps match when they are the same visit to the same node.
pub fn compare(first: &Trace, second: &Trace) -> Comparison {
    let mut found = Comparison {
        forked: fork_relation(first, second),
        input: value_differences(Some(&first.input), Some(&second.input)),
        outcome: value_differences(first.outcome.as_ref(), second.outcome.as_ref()),
        ..Comparison::default()
    };
    for pair in step_pairs(first, second) {
        let how = match (&pair.left, &pair.right) {
            (Some(_), Some(_)) if pair.same => {
                found.alike += 1;
                continue;
            }
            (Some(_), Some(_)) => "changed",
            (_, None) => "only in the first",
            (None, _) => "only in the second",
        };
        found.steps.push(StepDifference {
            node: pair.node,
            visit: pair.visit,
            item: pair.item,
            how,
            parts: pair.parts,
        });
    }
    found.same = found.input.is_empty() && found.outcome.is_empty() && found.steps.is_empty();
    found
}

/// Which of two runs is a fork of the other, if any.
pub fn fork_relation(first: &Trace, second: &Trace) -> Option<ForkRelation> {
    let of = |which, fork: &Trace, other: &Trace| {
        let from = fork.forked_from.as_ref();
        let from = from.filter(|from| from.run_id == other.run_id)?;
        let seq = from.seq;
        Some(ForkRelation { which, seq })
    };
    of("second", second, first).or_else(|| of("first", first, second))
}

/// The steps of two runs side by side: those of the first in its order, then those that only the
/// second has.
pub fn step_pairs(first: &Trace, second: &Trace) -> Vec<StepPair> {
    let mut others = keyed_steps(second).into_iter().collect::<BTreeMap<_, _>>();
    let mut found = Vec::new();
    for (key, step) in keyed_steps(first) {
        let other = others.remove(&key);
        let parts = other.map_or_else(Vec::new, |other| part_differences(step, other));
        found.push(step_pair(key, Some(step), other, parts));
    }
    for (key, step) in keyed_steps(second) {
        if others.contains_key(&key) {
            found.push(step_pair(key, None, Some(step), Vec::new()));
        }
    }
    found
}

fn step_pair(
    (node, item, visit): StepKey,
    left: Option<&TraceStep>,
    right: Option<&TraceStep>,
    parts: Vec<PartDifference>,
) -> StepPair {
    let side = |step: &TraceStep| StepSide {
        step: step.step,
        status: step.status,
        duration_ms: step.duration_ms,
        label: step.label.clone(),
    };
    StepPair {
        node,
        visit,
        item,
        same: left.is_some() && right.is_some() && parts.is_empty(),
        left: left.map(side),
        right: right.map(side),
        parts,
    }
}

/// Every step keyed by node, item and visit.
fn keyed_steps(trace: &Trace) -> Vec<(StepKey, &TraceStep)> {
    let mut visits: BTreeMap<(Str, Option<u32>), usize> = BTreeMap::new();
    let keyed = trace.steps.iter().map(|step| {
        let item = step.item.map(|item| item.index);
        let visit = visits.entry((step.node.clone(), item)).or_default();
        *visit += 1;
        ((step.node.clone(), item, *visit), step)
    });
    keyed.collect()
}

fn part_differences(first: &TraceStep, second: &TraceStep) -> Vec<PartDifference> {
    let label = |step: &TraceStep| step.label.clone().map(Value::from);
    let tool = |step: &TraceStep| step.tool.as_deref().map(Value::from);
    let error = |step: &TraceStep| {
        step.error.as_ref().map(|failure| {
            Value::object([
                ("code", failure.kind.code().into()),
                ("message", failure.message.as_str().into()),
            ])
        })
    };
    let all = [
        ("tool", tool(first), tool(second)),
        (
            "expression",
            first.expression.clone(),
            second.expression.clone(),
        ),
        ("input", first.input.clone(), second.input.clone()),
        ("label", label(first), label(second)),
        ("output", first.output.clone(), second.output.clone()),
        ("error", error(first), error(second)),
    ];
    all.into_iter()
        .map(|(part, a, b)| PartDifference {
            part,
            places: value_differences(a.as_ref(), b.as_ref()),
        })
        .filter(|part| !part.places.is_empty())
        .collect()
}

/// The locations at which two values differ, as deep as possible.
pub fn value_differences(first: Option<&Value>, second: Option<&Value>) -> Vec<ValueDifference> {
    let mut places = Vec::new();
    collect_differences(first, second, &mut String::new(), 0, &mut places);
    places
}

fn collect_differences(
    first: Option<&Value>,
    second: Option<&Value>,
    at: &mut String,
    depth: usize,
    places: &mut Vec<ValueDifference>,
) {
    if first == second || places.len() >= PLACES_MAX {
        return;
    }
    match (first, second) {
        (Some(Value::Object(a)), Some(Value::Object(b))) if depth < DEPTH_MAX => {
            let (a, b): (&Map, &Map) = (a, b);
            let more = b.keys().filter(|key| a.get(key).is_none());
            for key in a.keys().chain(more) {
                let step = key.replace('~', "~0").replace('/', "~1");
                with_child_pointer(at, &step, |at| {
                    collect_differences(a.get(key), b.get(key), at, depth + 1, places)
                });
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if depth < DEPTH_MAX => {
            for place in 0..a.len().max(b.len()) {
                let (a, b) = (a.get(place), b.get(place));
                with_child_pointer(at, &place.to_string(), |at| {
                    collect_differences(a, b, at, depth + 1, places)
                });
            }
        }
        _ => places.push(ValueDifference {
            at: at.clone(),
            first: first.cloned(),
            second: second.cloned(),
        }),
    }
}

fn with_child_pointer(at: &mut String, step: &str, visit: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    at.push_str(step);
    visit(at);
    at.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_deep_as_they_differ() {
        let value = |json: &str| Value::from_json(json).unwrap();
        let (a, b) = (
            value(r#"{"a":[1,{"b":2}],"c":1}"#),
            value(r#"{"a":[1,{"b":3}],"d":1}"#),
        );
        let at: Vec<_> = value_differences(Some(&a), Some(&b))
            .into_iter()
            .map(|place| place.at)
            .collect();
        assert_eq!(at, ["/a/1/b", "/c", "/d"]);
        assert!(value_differences(Some(&a), Some(&a)).is_empty());
    }
}
