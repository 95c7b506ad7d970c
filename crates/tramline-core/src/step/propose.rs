//! The call that a visit is about to make, worked out so that somebody can be asked about it.

use super::{Work, fill, variables, work};
use crate::failure::Failure;
use crate::graph::Compiled;
use crate::journal::{ProposedBatch, ProposedCall};
use crate::run::{Run, Token};
use crate::scope::{Moment, View};
use std::cell::Cell;
use tramline_expr::{Limits, Value};

/// The arguments of more calls of one batch are not recorded with the question: nobody reads them.
const BATCH_CALLS_MAX: usize = 1_000;
/// The recorded arguments of a batch together take no more than this, in bytes of JSON: the items
/// are recorded beside them.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// The call that a visit is about to make; nothing if it makes none, or why it cannot be made.
pub fn propose(
    run: &Run,
    token: &Token,
    moment: Moment,
    limits: &Limits,
) -> Result<Option<ProposedCall>, Failure> {
    match work(run, token, moment, limits) {
        Work::Call { tool, arguments } => Ok(Some(ProposedCall::new(tool, arguments))),
        Work::Spread { tool, items } => {
            let arguments = batch(run, token, &items, moment, limits);
            let mut call = ProposedCall::new(tool, Value::Null);
            call.batch = Some(ProposedBatch { items, arguments });
            Ok(Some(call))
        }
        Work::Failed(failure) => Err(failure),
        Work::Done { .. } | Work::Wait(_) => Ok(None),
    }
}

/// The arguments of the first calls of a batch, up to one that cannot be worked out: that item
/// fails alone, when its turn comes.
fn batch(run: &Run, token: &Token, items: &Value, moment: Moment, limits: &Limits) -> Vec<Value> {
    let node = run.graph.node(token.node);
    let (Compiled::Each(_, filler), Some(each)) = (run.graph.compiled(token.node), &node.each)
    else {
        return Vec::new();
    };
    let view = View {
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
            let filled = fill(filler, &view, Some(&variables), limits).ok()?;
            let filled = filled.unwrap_or_default();
            bytes += filled.to_json().len();
            (bytes <= BATCH_BYTES_MAX).then_some(filled)
        })
        .collect()
}
