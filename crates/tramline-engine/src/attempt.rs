//! One attempt of one step: the call, its timeout, its cancellation.

use crate::engine::{CallPermit, ChildCall, ChildOutcome, Engine};
use crate::ports::{ToolCallRequest, Tools};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{RunId, StepNo, ToolName};
use tramline_workflow::trace_context::TraceContext;

/// Time for a call to end by itself after its timeout, so that it can notify its server.
const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// The parameters of one attempt.
pub(crate) struct Attempt {
    pub(crate) tool: ToolName,
    pub(crate) arguments: Value,
    pub(crate) key: Str,
    /// How long to wait for an answer or the next progress notification.
    pub(crate) timeout: Duration,
    /// How long it may take in total, if its node sets it: progress does not extend this.
    pub(crate) total_timeout: Option<Duration>,
    pub(crate) cancel: CancellationToken,
    /// The trace span it belongs to.
    pub(crate) upstream: Option<TraceContext>,
}

/// Runs a workflow as a step and waits for it, at most for the time its node sets.
pub(crate) async fn attempt_workflow(
    engine: &Engine,
    call: Box<ChildCall>,
    most_ms: Option<u64>,
) -> ChildOutcome {
    let (name, cancel) = (call.name.clone(), call.cancel.clone());
    if cancel.is_cancelled() {
        let message = format!("workflow `{name}` was cancelled before it was called");
        return ChildOutcome::Answer(Err(Failure::new(FailureKind::Cancelled, message)));
    }
    let mut called = pin!(engine.call_workflow(call));
    let Some(most) = most_ms.map(Duration::from_millis) else {
        return called.await;
    };
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
            ChildOutcome::Answer(Err(match last {
                Ok(ChildOutcome::Answer(Err(said))) if !said.may_have_happened => failure,
                Ok(_) | Err(_) => failure.after_sending(),
            }))
        }
    }
}

/// The idempotency key, the same for every repetition of a step.
pub(crate) fn idempotency_key(run: &RunId, step: StepNo) -> Str {
    format!("{run}/{step}").into()
}

/// Calls once and waits for the answer, at most for the time its node sets. Every call of a run or
/// an SOP session is sent here, and only with a permit.
pub(crate) async fn attempt(
    tools: Arc<dyn Tools>,
    attempt: Attempt,
    _permit: &CallPermit,
) -> Result<Value, Failure> {
    let Attempt {
        tool,
        arguments,
        key,
        timeout,
        total_timeout: most,
        cancel,
        upstream,
    } = attempt;
    // A call cancelled before the first poll must not be sent.
    if cancel.is_cancelled() {
        let message = format!("{tool} was cancelled before it was called");
        return Err(Failure::new(FailureKind::Cancelled, message));
    }
    let name = tool.clone();
    let call = tools.call(ToolCallRequest {
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
            // Its answer comes too late, except for whether the call was sent.
            let last = tokio::time::timeout(CANCEL_GRACE, &mut call).await;
            let message = format!("{name} gave no answer within {} ms", most.as_millis());
            let failure = Failure::new(FailureKind::Timeout, message);
            Err(match last {
                Ok(Err(said)) if !said.may_have_happened => match said.data {
                    Some(data) => failure.with_data(data),
                    None => failure,
                },
                Ok(_) | Err(_) => failure.after_sending(),
            })
        }
    }
}
