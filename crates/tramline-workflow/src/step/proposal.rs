//! Computes the call that a visit is about to make, so that a person can be asked about it.

use super::{StepWork, evaluate, fill_template, variables};
use crate::failure::Failure;
use crate::graph::CompiledAction;
use crate::journal::{ProposedBatch, ProposedCall};
use crate::run::{Run, Token};
use crate::scope::{EvalMoment, RunView};
use std::cell::Cell;
use tramline_expr::{Limits, Value};

/// Calls of a batch whose arguments are recorded with the pause; more are not read.
const BATCH_CALLS_MAX: usize = 1_000;
/// Bytes of JSON of a batch's recorded arguments; the items are recorded in addition.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// The call that a visit is about to make, if any; an error if it cannot be computed.
pub fn proposed_call(
    run: &Run,
    token: &Token,
    moment: EvalMoment,
    limits: &Limits,
) -> Result<Option<ProposedCall>, Failure> {
    match evaluate(run, token, moment, limits) {
        StepWork::Call { tool, arguments } => Ok(Some(ProposedCall::new(tool, arguments))),
        StepWork::Spread { tool, items } => {
            let arguments = batch_arguments(run, token, &items, moment, limits);
            let mut call = ProposedCall::new(tool, Value::Null);
            call.batch = Some(ProposedBatch { items, arguments });
            Ok(Some(call))
        }
        StepWork::Failed(failure) => Err(failure),
        StepWork::Done { .. } | StepWork::Wait(_) | StepWork::Ask(_) => Ok(None),
    }
}

/// The arguments of the first calls of a batch, up to one that cannot be computed: that item fails
/// on its own later.
fn batch_arguments(
    run: &Run,
    token: &Token,
    items: &Value,
    moment: EvalMoment,
    limits: &Limits,
) -> Vec<Value> {
    let node = run.graph.node(token.node);
    let (CompiledAction::FanOut(_, filler), Some(each)) =
        (run.graph.compiled(token.node), &node.each)
    else {
        return Vec::new();
    };
    let view = RunView {
        run,
        from: token.from,
        moment,
        draws: Cell::new(0),
    };
    let mut bytes = 0;
    let items = items.as_array().unwrap_or_default().iter();
    let first = (0u32..).zip(items.take(BATCH_CALLS_MAX));
    first
        .map_while(|(index, item)| {
            let variables = variables(each, item.clone(), index);
            let filled = fill_template(filler, &view, Some(&variables), limits).ok()?;
            let filled = filled.unwrap_or_default();
            bytes += filled.to_json().len();
            (bytes <= BATCH_BYTES_MAX).then_some(filled)
        })
        .collect()
}
