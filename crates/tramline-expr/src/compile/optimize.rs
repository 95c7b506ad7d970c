//! Recognises what evaluation has a fast path for: literals, paths of fields, tests on fields.

use super::node::*;
use crate::value::{Map, Str, Value};

/// Levels of a literal array or object that are folded into a constant. Deeper literals are built
/// on each evaluation, where the limits apply.
pub(super) const FOLD_DEPTH_MAX: u32 = 8;

pub(super) fn is_shallow(value: &Value, depth: u32) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_shallow(item, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|value| is_shallow(value, depth - 1)),
        _ => true,
    }
}

pub(super) fn literal_keys(pairs: &[(ExprNode, ExprNode)]) -> Option<Vec<Str>> {
    let mut keys: Vec<Str> = Vec::with_capacity(pairs.len());
    for (key, _) in pairs {
        match &key.kind {
            ExprKind::Literal(Value::String(key)) if !keys.contains(key) => keys.push(key.clone()),
            _ => return None,
        }
    }
    Some(keys)
}

pub(super) fn fold_object(group: &GroupNode) -> Option<Value> {
    let keys = group.keys.as_ref()?;
    let mut map = Map::with_capacity(keys.len());
    for (key, (_, value)) in keys.iter().zip(&group.pairs) {
        match &value.kind {
            ExprKind::Literal(value) if is_shallow(value, FOLD_DEPTH_MAX) => {
                map.insert(key.clone(), value.clone());
            }
            _ => return None,
        }
    }
    Some(map.into())
}

/// Whether every step is a field, optionally filtered, or a value to start from. The last step may
/// calculate with fields.
pub(super) fn is_field_path(steps: &[PathStep]) -> bool {
    steps.iter().enumerate().all(|(at, step)| {
        let fits = match &step.kind {
            StepKind::Expr(node) => match &node.kind {
                ExprKind::Name(_) => true,
                ExprKind::Context | ExprKind::Root | ExprKind::Variable(_) => {
                    at == 0 && step.stages.is_empty() && steps.len() > 1
                }
                ExprKind::Block(_) => {
                    at > 0 && at + 1 == steps.len() && step.stages.is_empty() && yields_scalar(node)
                }
                _ => false,
            },
            StepKind::Sort(..) => false,
        };
        fits && step
            .stages
            .iter()
            .all(|stage| matches!(stage, PathStage::Filter(_)))
    })
}

/// Whether a block yields only numbers, booleans or undefined, and can be tried.
fn yields_scalar(node: &ExprNode) -> bool {
    match &node.kind {
        ExprKind::Block(block) if node.peek => block.body.iter().all(yields_scalar),
        ExprKind::Arithmetic(..)
        | ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Negate(_) => node.peek,
        _ => false,
    }
}

pub(super) fn is_peekable(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Context => true,
        ExprKind::Variable(variable) => matches!(variable, Variable::Slots(..)),
        ExprKind::Negate(inner) => inner.peek,
        ExprKind::Conditional(parts) => {
            let otherwise = parts.2.as_ref().is_none_or(|otherwise| otherwise.peek);
            parts.0.peek && parts.1.peek && otherwise
        }
        ExprKind::Arithmetic(_, pair)
        | ExprKind::Compare(_, pair)
        | ExprKind::And(pair)
        | ExprKind::Or(pair)
        | ExprKind::Elvis(pair)
        | ExprKind::Coalesce(pair) => pair.0.peek && pair.1.peek,
        ExprKind::Path(path) => {
            path.is_field_path
                && !path.keep
                && path.group.is_none()
                && path.steps.iter().all(|step| {
                    step.stages.is_empty()
                        && matches!(&step.kind, StepKind::Expr(node) if node.peek && !yields_scalar(node))
                })
        }
        ExprKind::Block(block) => {
            block.slots.is_none() && matches!(&block.body[..], [node] if node.peek)
        }
        _ => false,
    }
}
