//! Guards of one node that overlap or leave a hole, found by trying values around their constants.
//!
//! Only guards that compare paths with constants are looked at. Whatever else a guard does, nothing
//! is said of its node: a wrong alarm costs more than a missed one.

use super::{Drawn, Reader};
use crate::flaw::Code;
use crate::navigate::Guard;
use crate::sop::{Kind, Sop};
use std::collections::BTreeMap;
use tramline_expr::{Map, Str, Value};

mod atoms;

use atoms::Constants;

/// More cases than this are not tried: the check must stay quick.
const CASES_MAX: usize = 4_096;

/// The values that a path is tried with.
type Tried = (Vec<Str>, Vec<Value>);

impl Reader<'_> {
    pub(super) fn guards(&mut self, drawn: &Drawn, sop: &Sop) {
        let mut ways: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, edge) in sop.edges.iter().enumerate() {
            ways.entry(edge.from.0).or_default().push(at);
        }
        for (node, ways) in ways {
            let Some(found) = try_cases(sop, &ways) else {
                continue;
            };
            let (node, spot) = (&sop.nodes[node as usize], drawn.spots[node as usize]);
            if let Some((first, second, when)) = found.overlap {
                let message = format!(
                    "the guards of `{}` to `{first}` and to `{second}` both hold when {when}",
                    node.id
                );
                let hint = "make them exclude each other; the first one wins";
                self.odd(Code::GuardOverlap, spot, message, hint);
            }
            if let Some(when) = found.hole {
                let message = format!("no guard of `{}` holds when {when}", node.id);
                let hint = "cover it with a guard, or leave one way without a guard";
                self.odd(Code::GuardHole, spot, message, hint);
            }
        }
    }
}

#[derive(Default)]
struct Cases {
    overlap: Option<(Str, Str, String)>,
    hole: Option<String>,
}

/// Tries the guards of a node; nothing if they cannot be judged.
fn try_cases(sop: &Sop, ways: &[usize]) -> Option<Cases> {
    let guarded = ways.iter().filter(|way| sop.edges[**way].guard.is_some());
    let guarded: Vec<usize> = guarded.copied().collect();
    if guarded.is_empty() {
        return None;
    }
    let is_covered = guarded.len() < ways.len();
    if guarded.len() < 2 && is_covered {
        return None;
    }
    let mut constants = Constants::default();
    let mut guards: Vec<(Str, Guard)> = Vec::new();
    for way in guarded {
        let edge = &sop.edges[way];
        let source = edge.guard.as_ref()?;
        constants.collect(source)?;
        let target = sop.nodes[edge.to.at()].id.clone();
        guards.push((target, Guard::compile(source).ok()?));
    }
    let tried: Vec<Tried> = constants
        .into_paths()
        .map(|(path, values)| values.tried(slot(sop, &path)).map(|tried| (path, tried)))
        .collect::<Option<_>>()?;
    let count = tried.iter().try_fold(1usize, |sum, (_, values)| {
        sum.checked_mul(values.len())
            .filter(|sum| *sum <= CASES_MAX)
    })?;
    let mut found = Cases::default();
    for case in 0..count {
        judge(&guards, &tried, case, is_covered, &mut found);
    }
    Some(found)
}

/// The kind and the options of a slot that a path reads.
fn slot<'s>(sop: &'s Sop, path: &[Str]) -> Option<(Kind, &'s [Value])> {
    let [root, name] = path else { return None };
    let mut slots = sop.nodes.iter().flat_map(|it| &it.slots);
    let slot = slots.find(|it| root == "slots" && it.name == *name)?;
    Some((slot.kind, &slot.options))
}

fn judge(guards: &[(Str, Guard)], tried: &[Tried], case: usize, covered: bool, found: &mut Cases) {
    let mut rest = case;
    let mut data = Value::Object(Map::new().into());
    let mut when = Vec::new();
    for (path, values) in tried {
        let value = &values[rest % values.len()];
        rest /= values.len();
        data = set(&data, path, value);
        when.push(format!("{} is {}", path.join("."), told(value)));
    }
    let mut holding: Vec<&Str> = Vec::new();
    for (target, guard) in guards {
        match guard.holds(&data) {
            Some(true) if !holding.contains(&target) => holding.push(target),
            Some(_) => {}
            // It cannot be told in this case.
            None => return,
        }
    }
    match holding.as_slice() {
        [first, second, ..] if found.overlap.is_none() => {
            let both = ((*first).clone(), (*second).clone(), when.join(" and "));
            found.overlap = Some(both);
        }
        [] if !covered && found.hole.is_none() => found.hole = Some(when.join(" and ")),
        _ => {}
    }
}

fn told(value: &Value) -> String {
    match value.as_str() {
        Some(atoms::OTHER) => "anything else".to_owned(),
        _ => value.to_json(),
    }
}

/// A value with another set inside it.
fn set(data: &Value, path: &[Str], value: &Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value.clone();
    };
    let mut map = data.as_object().cloned().unwrap_or_default();
    let below = map.get(first).cloned().unwrap_or_default();
    map.insert(first.clone(), set(&below, rest, value));
    map.into()
}
