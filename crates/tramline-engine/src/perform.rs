//! One attempt of one step: the call, its time-out, its cancellation.

use crate::engine::{Called, ChildCall, Engine, Permit};
use crate::seams::{Call, Tools};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, StepNo, ToolName};
use tramline_core::upstream::Upstream;
use tramline_core::{Str, Value};

/// A call gets so long to end by itself after its time is up, so that it can tell its server.
const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// What one attempt needs to know.
pub(crate) struct Attempt {
    pub(crate) tool: ToolName,
    pub(crate) arguments: Value,
    pub(crate) key: Str,
    /// How long to wait for an answer or a sign of progress.
    pub(crate) timeout: Duration,
    /// How long it may take in all, if its node says so: progress does not extend that.
    pub(crate) most: Option<Duration>,
    pub(crate) cancel: CancellationToken,
    /// The span that it belongs to.
    pub(crate) upstream: Option<Upstream>,
}

/// Runs a workflow as a step and waits for it, at most for the time its node gives.
pub(crate) async fn workflow(engine: &Engine, call: ChildCall, most_ms: Option<u64>) -> Called {
    let (name, cancel) = (call.name.clone(), call.cancel.clone());
    if cancel.is_cancelled() {
        let message = format!("workflow `{name}` was cancelled before it was called");
        return Called::Answer(Err(Failure::new(FailureKind::Cancelled, message)));
    }
    let called = engine.call_workflow(call);
    let Some(most) = most_ms.map(Duration::from_millis) else {
        return called.await;
    };
    tokio::pin!(called);
    match tokio::time::timeout(most, &mut called).await {
        Ok(called) => called,
        Err(_) => {
            cancel.cancel();
            let last = tokio::time::timeout(CANCEL_GRACE, &mut called).await;
            let message = format!(
                "workflow `{name}` did not end within {} ms",
                most.as_millis()
            );
            let failure = Failure::new(FailureKind::Timeout, message);
            Called::Answer(Err(match last {
                Ok(Called::Answer(Err(said))) if !said.may_have_happened => failure,
                Ok(_) | Err(_) => failure.after_leaving(),
            }))
        }
    }
}

/// The key that stays the same for every repetition of a step.
pub(crate) fn key(run: &RunId, step: StepNo) -> Str {
    format!("{run}/{step}").into()
}

/// Calls once and waits for the answer, at most for the time its node gives. Every call of a run or a
/// conversation leaves here, and only with a permit.
pub(crate) async fn attempt(
    tools: Arc<dyn Tools>,
    attempt: Attempt,
    _permit: &Permit,
) -> Result<Value, Failure> {
    let Attempt {
        tool,
        arguments,
        key,
        timeout,
        most,
        cancel,
        upstream,
    } = attempt;
    // Who gave up before the first look must not see it leave.
    if cancel.is_cancelled() {
        let message = format!("{tool} was cancelled before it was called");
        return Err(Failure::new(FailureKind::Cancelled, message));
    }
    let name = tool.clone();
    let call = tools.call(Call {
        tool,
        arguments,
        key,
        timeout,
        cancel: cancel.clone(),
        progress: None,
        upstream,
    });
    let Some(most) = most else { return call.await };
    tokio::pin!(call);
    match tokio::time::timeout(most, &mut call).await {
        Ok(answer) => answer,
        Err(_) => {
            cancel.cancel();
            // Whatever it says now comes too late, but whether it had left.
            let last = tokio::time::timeout(CANCEL_GRACE, &mut call).await;
            let message = format!("{name} gave no answer within {} ms", most.as_millis());
            let failure = Failure::new(FailureKind::Timeout, message);
            Err(match last {
                Ok(Err(said)) if !said.may_have_happened => match said.data {
                    Some(data) => failure.with_data(data),
                    None => failure,
                },
                Ok(_) | Err(_) => failure.after_leaving(),
            })
        }
    }
}
