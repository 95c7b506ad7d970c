//! Recognises what evaluation has a short way for: literals, paths of fields, tests on fields.

use super::node::*;
use crate::value::{Map, Str, Value};

/// Literal arrays and objects nested deeper than this are made anew each time, where limits hold.
pub(super) const FOLD_DEPTH_MAX: u32 = 8;

pub(super) fn shallow(value: &Value, depth: u32) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| shallow(item, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|value| shallow(value, depth - 1)),
        _ => true,
    }
}

pub(super) fn literal_keys(pairs: &[(Node, Node)]) -> Option<Vec<Str>> {
    let mut keys: Vec<Str> = Vec::with_capacity(pairs.len());
    for (key, _) in pairs {
        match &key.kind {
            Kind::Literal(Value::String(key)) if !keys.contains(key) => keys.push(key.clone()),
            _ => return None,
        }
    }
    Some(keys)
}

pub(super) fn fold_object(group: &Group) -> Option<Value> {
    let keys = group.keys.as_ref()?;
    let mut map = Map::with_capacity(keys.len());
    for (key, (_, value)) in keys.iter().zip(&group.pairs) {
        match &value.kind {
            Kind::Literal(value) if shallow(value, FOLD_DEPTH_MAX) => {
                map.insert(key.clone(), value.clone());
            }
            _ => return None,
        }
    }
    Some(map.into())
}

/// Whether every step is a field, perhaps filtered, or a value to start from; the last may reckon
/// with fields.
pub(super) fn walkable(steps: &[Step]) -> bool {
    steps.iter().enumerate().all(|(at, step)| {
        let fits = match &step.kind {
            StepKind::Expr(node) => match &node.kind {
                Kind::Name(_) => true,
                Kind::Context | Kind::Root | Kind::Variable(_) => {
                    at == 0 && step.stages.is_empty() && steps.len() > 1
                }
                Kind::Block(_) => {
                    at > 0 && at + 1 == steps.len() && step.stages.is_empty() && reckons(node)
                }
                _ => false,
            },
            StepKind::Sort(..) => false,
        };
        fits && step
            .stages
            .iter()
            .all(|stage| matches!(stage, Stage::Filter(_)))
    })
}

/// Whether a block gives nothing but numbers, truth values and nothing, and can be tried.
fn reckons(node: &Node) -> bool {
    match &node.kind {
        Kind::Block(block) if node.peek => block.body.iter().all(reckons),
        Kind::Arithmetic(..) | Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Negate(_) => {
            node.peek
        }
        _ => false,
    }
}

pub(super) fn peekable(kind: &Kind) -> bool {
    match kind {
        Kind::Literal(_) | Kind::Name(_) | Kind::Context => true,
        Kind::Variable(variable) => matches!(variable, Variable::Slots(..)),
        Kind::Negate(inner) => inner.peek,
        Kind::Conditional(parts) => {
            let otherwise = parts.2.as_ref().is_none_or(|otherwise| otherwise.peek);
            parts.0.peek && parts.1.peek && otherwise
        }
        Kind::Arithmetic(_, pair)
        | Kind::Compare(_, pair)
        | Kind::And(pair)
        | Kind::Or(pair)
        | Kind::Elvis(pair)
        | Kind::Coalesce(pair) => pair.0.peek && pair.1.peek,
        Kind::Path(path) => {
            path.walk
                && !path.keep
                && path.group.is_none()
                && path.steps.iter().all(|step| {
                    step.stages.is_empty()
                        && matches!(&step.kind, StepKind::Expr(node) if node.peek && !reckons(node))
                })
        }
        Kind::Block(block) => {
            block.slots.is_none() && matches!(&block.body[..], [node] if node.peek)
        }
        _ => false,
    }
}
