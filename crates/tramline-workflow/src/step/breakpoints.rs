//! Breakpoints: whether a run stops before a visit.

use crate::run::{BreakCondition, Run, Token};
use crate::scope::{EvalMoment, RunView};
use std::cell::Cell;
use tramline_expr::{Limits, Str, Value};

/// A breakpoint that applies to a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakpointHit {
    /// Why the run stops.
    pub reason: Str,
    /// The pinned output with which it continues at once.
    pub output: Option<Value>,
}

/// The breakpoint that applies to a visit, if any.
pub fn breakpoint_hit(
    run: &Run,
    token: &Token,
    moment: EvalMoment,
    limits: &Limits,
) -> Option<BreakpointHit> {
    let watching = run
        .breakpoints
        .as_ref()
        .filter(|_| !token.clearance.passed_breakpoint)?;
    let mut breaks = watching
        .breaks
        .iter()
        .filter(|spot| spot.node == token.node);
    let view = RunView {
        run,
        from: token.from,
        moment,
        draws: Cell::new(0),
    };
    let found = breaks.find_map(|spot| {
        let reason = condition_holds(&spot.condition, &view, limits)?;
        Some(BreakpointHit {
            reason,
            output: spot.output.clone(),
        })
    });
    found.or_else(|| {
        watching.stepping.then(|| BreakpointHit {
            reason: "step".into(),
            output: None,
        })
    })
}

/// Whether the original run already made a visit's call, and no answer has allowed this fork to
/// repeat it.
pub fn repeats_effect(run: &Run, token: &Token) -> bool {
    let Some(fork) = &run.started.fork else {
        return false;
    };
    !token.clearance.effect_allowed && fork.asks.contains(&run.graph.node(token.node).id)
}

/// Whether a breakpoint applies now. One whose condition fails applies, with the error as reason.
fn condition_holds(condition: &BreakCondition, view: &RunView<'_>, limits: &Limits) -> Option<Str> {
    let held = match condition {
        BreakCondition::Always => Ok(true),
        BreakCondition::Expression(expression) => expression
            .evaluate(&view.run.scope, view, limits)
            .map(|value| value.is_some_and(|value| is_truthy(&value))),
        BreakCondition::Rule(rule) => rule.holds(&view.run.scope, view, limits),
    };
    match held {
        Ok(false) => None,
        Ok(true) => Some("breakpoint".into()),
        Err(error) => Some(format!("breakpoint; its condition failed: {error}").into()),
    }
}

/// The truth value of a value in JSONata.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(_) => value.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(is_truthy),
        Value::Object(fields) => !fields.is_empty(),
    }
}
