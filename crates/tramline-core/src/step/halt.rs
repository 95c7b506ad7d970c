//! Breakpoints: whether a run halts before a visit.

use crate::run::{Condition, Run, Token};
use crate::scope::{Moment, View};
use std::cell::Cell;
use tramline_expr::{Limits, Str, Value};

/// Why a run halts before a visit, if somebody wanted it to.
pub fn halts(run: &Run, token: &Token, moment: Moment, limits: &Limits) -> Option<Str> {
    let watching = run.watching.as_ref().filter(|_| !token.leave.passed)?;
    let mut breaks = watching.breaks.iter().filter(|(at, _)| *at == token.node);
    let view = View {
        run,
        from: token.from,
        moment,
        draws: Cell::new(0),
    };
    let found = breaks.find_map(|(_, condition)| holds(condition, &view, limits));
    found.or_else(|| watching.stepping.then(|| "step".into()))
}

/// Whether a visit's call was made before, by the run that this one branched off from, and nobody
/// has said yet that it may be made again.
pub fn repeats(run: &Run, token: &Token) -> bool {
    let Some(fork) = &run.started.fork else {
        return false;
    };
    !token.leave.effect && fork.asks.contains(&run.graph.node(token.node).id)
}

/// Whether a breakpoint counts now. One that cannot be evaluated does, and says so.
fn holds(condition: &Condition, view: &View<'_>, limits: &Limits) -> Option<Str> {
    let held = match condition {
        Condition::Always => Ok(true),
        Condition::Expression(expression) => expression
            .evaluate(&view.run.scope, view, limits)
            .map(|value| value.is_some_and(|value| truth(&value))),
        Condition::Rule(rule) => rule.holds(&view.run.scope, view, limits),
    };
    match held {
        Ok(false) => None,
        Ok(true) => Some("breakpoint".into()),
        Err(error) => Some(format!("breakpoint, since its condition fails: {error}").into()),
    }
}

/// What JSONata takes for true.
fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(_) => value.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(truth),
        Value::Object(fields) => !fields.is_empty(),
    }
}
