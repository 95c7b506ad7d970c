//! Waits for a workflow's next pause or end, and asks the client what it can answer.

use super::error::{ControlError, ReplyCode};
use super::status::{self, needs_decision};
use crate::elicitation::{self, AfterElicitation};
use crate::progress::{NotifyOptions, wait_with_progress};
use crate::reply;
use crate::run_wait::AwaitedRun;
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use std::sync::Arc;
use tramline_engine::DriveOutcome;

/// Result of a control command: a status, or a question for the client.
pub(super) enum ControlReply {
    /// The status of the workflow.
    Status(tramline_expr::Map),
    /// A question for the client; the answer comes with another call.
    Question(Box<CallToolResponse>),
}

/// Waits until a workflow pauses or ends.
pub(super) async fn wait_for_run(
    means: &CallContext,
    tool: &str,
    mut underway: AwaitedRun,
) -> Result<ControlReply, ControlError> {
    let _here = means
        .shared
        .toolset_state
        .control
        .register_waiting(&underway.run);
    let wishes = NotifyOptions::new(&means.request, means.log);
    loop {
        let ended =
            wait_with_progress(&means.engine, &mut underway, &means.request, &wishes).await?;
        match ended {
            DriveOutcome::Finished(_) => return current_status(means, &mut underway).await,
            DriveOutcome::Paused(pauses) => {
                let run = underway.state(&means.engine).await?;
                // Tasks may have been added in the meantime.
                underway.graph = Arc::clone(&run.graph);
                let open: Vec<_> = pauses
                    .into_iter()
                    .filter(|(_, p)| needs_decision(p))
                    .collect();
                let put =
                    elicitation::ask_client(&means.shared, tool, &underway, &open, &means.request);
                match put.await? {
                    // No question was asked, so nothing has changed.
                    None if open.is_empty() || !elicitation::shows_forms(&means.request) => {
                        let told = status::run_status(&means.engine, &run).await;
                        return told.map(ControlReply::Status);
                    }
                    None => return current_status(means, &mut underway).await,
                    Some(AfterElicitation::Resume) => {}
                    Some(AfterElicitation::Reply(reply)) => {
                        return Ok(ControlReply::Question(reply));
                    }
                }
            }
            DriveOutcome::Stopped => {
                let says = "stopped waiting for the workflow; call `continue` to return to it";
                return Err(
                    ControlError::new(ReplyCode::Internal, says).with_workflow(&underway.run)
                );
            }
        }
    }
}

/// Resumes a workflow with an answer from the client.
pub(super) async fn resume_with_answer(
    means: &CallContext,
    tool: &str,
) -> Result<Option<ControlReply>, ControlError> {
    let Some((state, responses)) = means.client_answers.as_ref().filter(|it| !it.0.elsewhere)
    else {
        return Ok(None);
    };
    let answered =
        elicitation::apply_answers(&means.shared, state.clone(), responses, &means.request);
    let (mut underway, next) = answered.await?;
    match next {
        AfterElicitation::Resume => wait_for_run(means, tool, underway).await.map(Some),
        AfterElicitation::Reply(_) => current_status(means, &mut underway).await.map(Some),
    }
}

async fn current_status(
    means: &CallContext,
    underway: &mut AwaitedRun,
) -> Result<ControlReply, ControlError> {
    let run = underway.state(&means.engine).await?;
    let told = status::run_status(&means.engine, &run).await;
    told.map(ControlReply::Status)
}

/// The reply to a command.
pub(super) fn tool_response(came: Result<ControlReply, ControlError>) -> CallToolResponse {
    match came {
        Ok(ControlReply::Status(told)) => reply::success(&told.into()).into(),
        Ok(ControlReply::Question(reply)) => *reply,
        Err(wrong) => wrong.into(),
    }
}
