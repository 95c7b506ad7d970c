//! Finds guards of a node that overlap or leave a gap, by trying values around their constants.
//!
//! Only guards that compare paths with constants are checked. If a guard does anything else, its node
//! is skipped: a false warning costs more than a missed one.

use super::{ChartNodes, SopReader};
use std::collections::BTreeMap;
use tramline_expr::{Map, Str, Value};
use tramline_sop::Guard;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::sop::{SlotKind, Sop};

mod comparisons;

use comparisons::GuardConstants;

/// Most cases tried per node, so that the check stays fast.
const CASES_MAX: usize = 4_096;

/// A path and the values it is tried with.
type TriedValues = (Vec<Str>, Vec<Value>);

impl SopReader<'_> {
    pub(super) fn warn_about_guards(&mut self, drawn: &ChartNodes, sop: &Sop) {
        let mut ways: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, edge) in sop.edges.iter().enumerate() {
            ways.entry(edge.from.0).or_default().push(at);
        }
        for (node, ways) in ways {
            let Some(found) = try_cases(sop, &ways) else {
                continue;
            };
            let (node, spot) = (&sop.nodes[node as usize], drawn.spans[node as usize]);
            if let Some((first, second, when)) = found.overlap {
                let message = format!(
                    "the guards of `{}` to `{first}` and to `{second}` both hold when {when}",
                    node.id
                );
                let hint = "make them mutually exclusive; the first one wins";
                self.warn(FlawCode::GuardOverlap, spot, message, hint);
            }
            if let Some(when) = found.gap {
                let message = format!("no guard of `{}` holds when {when}", node.id);
                let hint = "cover it with a guard, or leave one edge without a guard";
                self.warn(FlawCode::GuardGap, spot, message, hint);
            }
        }
    }
}

#[derive(Default)]
struct CoverageFindings {
    overlap: Option<(Str, Str, String)>,
    gap: Option<String>,
}

/// Tries the guards of a node; `None` if they cannot be checked.
fn try_cases(sop: &Sop, ways: &[usize]) -> Option<CoverageFindings> {
    let guarded = ways.iter().filter(|way| sop.edges[**way].guard.is_some());
    let guarded: Vec<usize> = guarded.copied().collect();
    if guarded.is_empty() {
        return None;
    }
    let is_covered = guarded.len() < ways.len();
    if guarded.len() < 2 && is_covered {
        return None;
    }
    let mut constants = GuardConstants::default();
    let mut guards: Vec<(Str, Guard)> = Vec::new();
    for way in guarded {
        let edge = &sop.edges[way];
        let source = edge.guard.as_ref()?;
        constants.collect(source)?;
        let target = sop.nodes[edge.to.index()].id.clone();
        guards.push((target, Guard::compile(source).ok()?));
    }
    let tried: Vec<TriedValues> = constants
        .into_paths()
        .map(|(path, values)| {
            values
                .sample_values(slot_of_path(sop, &path))
                .map(|tried| (path, tried))
        })
        .collect::<Option<_>>()?;
    let count = tried.iter().try_fold(1usize, |sum, (_, values)| {
        sum.checked_mul(values.len())
            .filter(|sum| *sum <= CASES_MAX)
    })?;
    let mut found = CoverageFindings::default();
    for case in 0..count {
        evaluate_case(&guards, &tried, case, is_covered, &mut found);
    }
    Some(found)
}

/// The kind and options of the slot that a path refers to.
fn slot_of_path<'s>(sop: &'s Sop, path: &[Str]) -> Option<(SlotKind, &'s [Value])> {
    let [root, name] = path else { return None };
    let mut slots = sop.nodes.iter().flat_map(|it| &it.slots);
    let slot = slots.find(|it| root == "slots" && it.name == *name)?;
    Some((slot.kind, &slot.options))
}

fn evaluate_case(
    guards: &[(Str, Guard)],
    tried: &[TriedValues],
    case: usize,
    covered: bool,
    found: &mut CoverageFindings,
) {
    let mut rest = case;
    let mut data = Value::Object(Map::new().into());
    let mut when = Vec::new();
    for (path, values) in tried {
        let value = &values[rest % values.len()];
        rest /= values.len();
        data = with_path_set(&data, path, value);
        when.push(format!("{} is {}", path.join("."), describe_value(value)));
    }
    let mut holding: Vec<&Str> = Vec::new();
    for (target, guard) in guards {
        match guard.holds(&data) {
            Some(true) if !holding.contains(&target) => holding.push(target),
            Some(_) => {}
            // Undecidable in this case.
            None => return,
        }
    }
    match holding.as_slice() {
        [first, second, ..] if found.overlap.is_none() => {
            let both = ((*first).clone(), (*second).clone(), when.join(" and "));
            found.overlap = Some(both);
        }
        [] if !covered && found.gap.is_none() => found.gap = Some(when.join(" and ")),
        _ => {}
    }
}

fn describe_value(value: &Value) -> String {
    match value.as_str() {
        Some(comparisons::OTHER_STRING) => "anything else".to_owned(),
        _ => value.to_json(),
    }
}

/// A copy of a value with one path set.
fn with_path_set(data: &Value, path: &[Str], value: &Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value.clone();
    };
    let mut map = data.as_object().cloned().unwrap_or_default();
    let below = map.get(first).cloned().unwrap_or_default();
    map.insert(first.clone(), with_path_set(&below, rest, value));
    map.into()
}
