//! Two runs side by side: which steps both took, and where they differ.

use crate::ids::{Seq, StepNo};
use crate::trace::{Step, Trace};
use serde::Serialize;
use std::collections::BTreeMap;
use tramline_expr::{Map, Str, Value};

/// At most so many differing places of one value are told.
const PLACES_MAX: usize = 20;
/// Deeper places are told as one.
const DEPTH_MAX: usize = 64;

/// How two runs differ.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Whether they do not.
    pub same: bool,
    /// Which of them is a fork of the other, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
    /// How many steps are alike.
    pub alike: usize,
    /// Where their inputs differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<Place>,
    /// The steps that differ, in the order of the first run, then those of the second alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Difference>,
    /// Where their ends differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<Place>,
}

/// One of two runs that branched off from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Forked {
    /// The fork: `first` or `second`.
    pub which: &'static str,
    /// After which event of the other.
    pub seq: Seq,
}

/// A step that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Its node.
    pub node: Str,
    /// Which visit to the node, from 1.
    pub visit: usize,
    /// The item, if it was for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// `changed`, `only in the first` or `only in the second`.
    pub how: &'static str,
    /// What differs: `input`, `expression`, `label`, `output`, `error`, with the places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A part of a step that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Which.
    pub part: &'static str,
    /// Where in it.
    pub places: Vec<Place>,
}

/// One place of a value that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Its JSON pointer; empty for the whole.
    pub at: String,
    /// What the first run has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Value>,
    /// What the second has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Value>,
}

/// A step of one run beside that of the other.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Its node.
    pub node: Str,
    /// Which visit to the node, from 1.
    pub visit: usize,
    /// The item, if it was for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Whether both took it alike.
    pub same: bool,
    /// The step of the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Side>,
    /// The step of the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Side>,
    /// What differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A step of one of two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Its number there.
    pub step: StepNo,
    /// How it stands.
    pub status: &'static str,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The label it picked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
}

type Key = (Str, Option<u32>, usize);

/// Compares two runs step by step. Steps belong together when they are the same visit to a node.
pub fn compare(first: &Trace, second: &Trace) -> Comparison {
    let mut found = Comparison {
        forked: forked(first, second),
        input: differ(Some(&first.input), Some(&second.input)),
        outcome: differ(first.outcome.as_ref(), second.outcome.as_ref()),
        ..Comparison::default()
    };
    for pair in pairs(first, second) {
        let how = match (&pair.left, &pair.right) {
            (Some(_), Some(_)) if pair.same => {
                found.alike += 1;
                continue;
            }
            (Some(_), Some(_)) => "changed",
            (_, None) => "only in the first",
            (None, _) => "only in the second",
        };
        found.steps.push(Difference {
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

/// Which of two runs is a fork of the other, if one is.
pub fn forked(first: &Trace, second: &Trace) -> Option<Forked> {
    let of = |which, fork: &Trace, other: &Trace| {
        let from = fork.forked_from.as_ref();
        let from = from.filter(|from| from.run_id == other.run_id)?;
        let seq = from.seq;
        Some(Forked { which, seq })
    };
    of("second", second, first).or_else(|| of("first", first, second))
}

/// The steps of two runs side by side: in the order of the first, then those of the second alone.
pub fn pairs(first: &Trace, second: &Trace) -> Vec<Pair> {
    let mut others = keyed(second).into_iter().collect::<BTreeMap<_, _>>();
    let mut found = Vec::new();
    for (key, step) in keyed(first) {
        let other = others.remove(&key);
        let parts = other.map_or_else(Vec::new, |other| parts(step, other));
        found.push(pair(key, Some(step), other, parts));
    }
    for (key, step) in keyed(second) {
        if others.contains_key(&key) {
            found.push(pair(key, None, Some(step), Vec::new()));
        }
    }
    found
}

fn pair(
    (node, item, visit): Key,
    left: Option<&Step>,
    right: Option<&Step>,
    parts: Vec<Part>,
) -> Pair {
    let side = |step: &Step| Side {
        step: step.step,
        status: step.status,
        duration_ms: step.duration_ms,
        label: step.label.clone(),
    };
    Pair {
        node,
        visit,
        item,
        same: left.is_some() && right.is_some() && parts.is_empty(),
        left: left.map(side),
        right: right.map(side),
        parts,
    }
}

/// Every step under its node, its item and which visit it is.
fn keyed(trace: &Trace) -> Vec<(Key, &Step)> {
    let mut visits: BTreeMap<(Str, Option<u32>), usize> = BTreeMap::new();
    let keyed = trace.steps.iter().map(|step| {
        let item = step.item.map(|item| item.index);
        let visit = visits.entry((step.node.clone(), item)).or_default();
        *visit += 1;
        ((step.node.clone(), item, *visit), step)
    });
    keyed.collect()
}

fn parts(first: &Step, second: &Step) -> Vec<Part> {
    let label = |step: &Step| step.label.clone().map(Value::from);
    let tool = |step: &Step| step.tool.as_deref().map(Value::from);
    let error = |step: &Step| {
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
        .map(|(part, a, b)| Part {
            part,
            places: differ(a.as_ref(), b.as_ref()),
        })
        .filter(|part| !part.places.is_empty())
        .collect()
}

/// The places at which two values differ, as deep as they can be told.
pub fn differ(first: Option<&Value>, second: Option<&Value>) -> Vec<Place> {
    let mut places = Vec::new();
    walk(first, second, &mut String::new(), 0, &mut places);
    places
}

fn walk(
    first: Option<&Value>,
    second: Option<&Value>,
    at: &mut String,
    depth: usize,
    places: &mut Vec<Place>,
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
                below(at, &step, |at| {
                    walk(a.get(key), b.get(key), at, depth + 1, places)
                });
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if depth < DEPTH_MAX => {
            for place in 0..a.len().max(b.len()) {
                let (a, b) = (a.get(place), b.get(place));
                below(at, &place.to_string(), |at| {
                    walk(a, b, at, depth + 1, places)
                });
            }
        }
        _ => places.push(Place {
            at: at.clone(),
            first: first.cloned(),
            second: second.cloned(),
        }),
    }
}

fn below(at: &mut String, step: &str, visit: impl FnOnce(&mut String)) {
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
        let at: Vec<_> = differ(Some(&a), Some(&b))
            .into_iter()
            .map(|place| place.at)
            .collect();
        assert_eq!(at, ["/a/1/b", "/c", "/d"]);
        assert!(differ(Some(&a), Some(&a)).is_empty());
    }
}
