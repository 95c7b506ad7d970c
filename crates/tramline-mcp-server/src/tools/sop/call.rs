//! `sop_call` and gated tools: a downstream call from the session's current node.

use super::session::{session_fault_reply, session_of_call};
use super::sop_reply;
use crate::elicitation::{self, AfterElicitation};
use crate::progress::{NotifyOptions, wait_with_progress};
use crate::reply;
use crate::run_wait::{AwaitedRun, OnCancel};
use crate::tool::CallContext;
use rmcp::model::{CallToolResponse, CallToolResult};
use tokio_util::sync::CancellationToken;
use tramline_engine::{
    ApprovedCallResult, ArgumentEdit, DriveOutcome, Fault, GatedCall, GatedCallOutcome,
};
use tramline_expr::{Map, Str, Value};
use tramline_views::pause_view;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::Pause;

pub(super) async fn sop_call(means: CallContext, arguments: Value) -> CallToolResponse {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let call = GatedCall {
        tool: text("tool").unwrap_or_default().into(),
        arguments: arguments.get("arguments").cloned().unwrap_or_default(),
        confirmed: text("confirm").map(Into::into),
        again: arguments
            .get("again")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        by: means.respondent(),
        origin: means.shared.options.origin.clone(),
        upstream: means.trace_context(),
    };
    call_or_error(means, "sop_call", &arguments, call).await
}

/// Arguments that we add to a gated tool: the session, and how the user agreed.
pub(super) const OWN_ARGUMENTS: [&str; 2] = ["session_id", "confirm"];
/// Alternative names, used if the tool has arguments with those names; always accepted.
pub(super) const PREFIXED_ARGUMENTS: [&str; 2] = ["sop_session_id", "sop_confirm"];

/// Calls a gated tool by its own name. Removes our arguments from the given ones; `ours` are their names for
/// this tool.
pub(super) async fn call_gated_tool(
    means: CallContext,
    name: &str,
    tool: Str,
    ours: &[&str; 2],
    arguments: Value,
) -> CallToolResponse {
    let mut rest: Map = arguments.as_object().cloned().unwrap_or_default();
    let mut take = |at: usize| {
        let always = rest.remove(PREFIXED_ARGUMENTS[at]);
        always.or_else(|| rest.remove(ours[at]))
    };
    let (session, confirmed) = (take(0), take(1));
    let confirmed = match confirmed {
        None | Some(Value::Null) => None,
        Some(Value::String(said)) => Some(said),
        Some(other) => {
            let message = format!("`{}` must be a string, not {}", ours[1], other.kind());
            return session_fault_reply(&Fault::Rejected(message)).into();
        }
    };
    let mut named = Map::new();
    if let Some(session) = session {
        named.insert(OWN_ARGUMENTS[0], session);
    }
    let call = GatedCall {
        tool,
        arguments: rest.into(),
        confirmed,
        again: false,
        by: means.respondent(),
        origin: means.shared.options.origin.clone(),
        upstream: means.trace_context(),
    };
    call_or_error(means, name, &named.into(), call).await
}

async fn call_or_error(
    means: CallContext,
    name: &str,
    arguments: &Value,
    call: GatedCall,
) -> CallToolResponse {
    match run_call(&means, name, arguments, call).await {
        Ok(response) => response,
        Err(why) => session_fault_reply(&why).into(),
    }
}

async fn run_call(
    means: &CallContext,
    name: &str,
    arguments: &Value,
    call: GatedCall,
) -> Result<CallToolResponse, Fault> {
    let id = session_of_call(means, arguments).await?;
    if let Some((state, responses)) = &means.client_answers {
        check_session(means, &id, &state.run).await?;
        let answered =
            elicitation::apply_answers(&means.shared, state.clone(), responses, &means.request);
        return match answered.await? {
            (underway, AfterElicitation::Resume) => wait_for_call(means, name, &id, underway).await,
            (_, AfterElicitation::Reply(reply)) => Ok(*reply),
        };
    }
    // The call is cancelled with its request; its result is recorded either way.
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    match means.engine.call_in_session(&id, call, cancel).await? {
        GatedCallOutcome::AwaitsApproval(run) => {
            let underway = AwaitedRun::load(&means.engine, &run).await?;
            wait_for_call(means, name, &id, underway).await
        }
        went => Ok(outcome_reply(went).into()),
    }
}

/// Rejects an answer to a question of another session.
async fn check_session(means: &CallContext, id: &RunId, run: &RunId) -> Result<(), Fault> {
    let loaded = means.engine.load(run).await?;
    match &loaded.run.started.parent {
        Some(parent) if parent.run == *id => Ok(()),
        Some(_) | None => Err(Fault::NotFound(run.clone())),
    }
}

/// Waits for a call that needs approval, and asks the client's user if possible.
async fn wait_for_call(
    means: &CallContext,
    name: &str,
    id: &RunId,
    mut underway: AwaitedRun,
) -> Result<CallToolResponse, Fault> {
    // A person takes longer than clients wait: repeating the call returns to the same question.
    underway.on_cancel = OnCancel::Continue;
    let wishes = NotifyOptions::new(&means.request, means.log);
    loop {
        let watched = wait_with_progress(&means.engine, &mut underway, &means.request, &wishes);
        match watched.await? {
            DriveOutcome::Finished(_) => {
                let ApprovedCallResult { answer, edit } =
                    means.engine.approved_call_result(id, &underway.run).await?;
                return Ok(match (answer, edit) {
                    (Ok(output), Some(edit)) => edited_result(output, edit).into(),
                    (answer, _) => outcome_reply(GatedCallOutcome::Called(answer, None)).into(),
                });
            }
            DriveOutcome::Paused(pauses) => {
                let (shared, context) = (&means.shared, &means.request);
                match elicitation::ask_client(shared, name, &underway, &pauses, context).await? {
                    None => return Ok(approval_required_reply(&underway, &pauses).into()),
                    Some(AfterElicitation::Resume) => {}
                    Some(AfterElicitation::Reply(reply)) => return Ok(*reply),
                }
            }
            DriveOutcome::Stopped => {
                let says = "stopped waiting for the call; repeat it to return to it";
                return Err(Fault::Rejected(says.into()));
            }
        }
    }
}

/// The reply for a call that waits for a person whom the client cannot ask.
fn approval_required_reply(underway: &AwaitedRun, pauses: &[(Seq, Pause)]) -> CallToolResult {
    let AwaitedRun { run, graph, .. } = underway;
    let mut told = Map::new();
    told.insert("status", "approval_required".into());
    told.insert("workflow_id", run.as_str().into());
    let asked = pauses.iter();
    let asked: Vec<Value> = asked
        .map(|(seq, pause)| pause_view::pause_value(graph, run, *seq, pause))
        .collect();
    if let Some(first) = asked.first() {
        for key in ["checkpoint_id", "node", "message", "options"] {
            told.insert(key, first.get(key).cloned().unwrap_or_default());
        }
    }
    let next = "A person must approve this call. Once they have, repeat the same call to get its \
                result; a changed call asks again.";
    told.insert("next", next.into());
    reply::success(&told.into())
}

/// The result of a call whose arguments a person edited. The agent must know what was actually done.
fn edited_result(output: Value, edit: ArgumentEdit) -> CallToolResult {
    let note = format!(
        "{} edited the arguments before approving; the call used edited_arguments",
        edit.by
    );
    reply::success(&Value::object([
        ("note", Value::from(note)),
        ("edited_arguments", edit.arguments),
        ("edited_by", edit.by.into()),
        ("result", output),
    ]))
}

fn outcome_reply(went: GatedCallOutcome) -> CallToolResult {
    let mut error = Map::new();
    match went {
        GatedCallOutcome::Called(Ok(output), None) => return reply::success(&output),
        GatedCallOutcome::Called(Ok(output), Some(warning)) => {
            let both = [("warning", Value::from(warning)), ("result", output)];
            return reply::success(&Value::object(both));
        }
        GatedCallOutcome::Called(Err(failure), _) => {
            if failure.kind == FailureKind::Rejected {
                error.insert("status", "rejected".into());
            }
            error.insert("code", failure.kind.code().into());
            error.insert("message", failure.to_string().into());
        }
        GatedCallOutcome::AwaitsApproval(run) => {
            let message = format!("the call waits for approval in {run}");
            error.insert("message", message.into());
        }
        GatedCallOutcome::Refused(refusal) => {
            error.insert("message", refusal.message().into());
            sop_reply::add_refusal(&refusal, &mut error);
        }
        GatedCallOutcome::StillRunning(tool) => {
            let message = format!(
                "{tool} was called with these arguments before, and that call is still running: \
                 wait for its result; it is not made again while it runs"
            );
            error.insert("message", message.into());
        }
        GatedCallOutcome::InDoubt(tool) => {
            let message = format!(
                "{tool} was called with these arguments before, and the result is unknown: \
                 check, and if it did not happen repeat it with `again: true`"
            );
            error.insert("message", message.into());
        }
    }
    reply::error_reply(error)
}
