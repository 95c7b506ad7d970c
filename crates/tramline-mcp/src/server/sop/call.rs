//! `sop_call`, and each gated tool: a downstream call from where the conversation stands.

use super::seat::{conversation, fault};
use super::told;
use crate::server::pausing::{self, Next};
use crate::server::teller::Wishes;
use crate::server::toolset::Means;
use crate::server::underway::{Cancelled, Underway};
use crate::server::{graph_tools, reply};
use rmcp::model::{CallToolResponse, CallToolResult};
use tokio_util::sync::CancellationToken;
use tramline_core::failure::FailureKind;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::Pause;
use tramline_core::{Map, Str, Value, question};
use tramline_engine::{AskedAnswer, Edit, Ended, Fault, ToolCall, Went};

pub(super) async fn sop_call(means: Means, arguments: Value) -> CallToolResponse {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let call = ToolCall {
        tool: text("tool").unwrap_or_default().into(),
        arguments: arguments.get("arguments").cloned().unwrap_or_default(),
        confirmed: text("confirm").map(Into::into),
        again: arguments
            .get("again")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        by: means.respondent(),
        origin: means.shared.conduct.origin.clone(),
        upstream: means.upstream(),
    };
    through(means, "sop_call", &arguments, call).await
}

/// Our own arguments of a gated tool: the conversation, and how the user agreed.
pub(super) const PLAIN: [&str; 2] = ["session_id", "confirm"];
/// The same where the tool has arguments of those names itself; they can always be used.
pub(super) const OURS: [&str; 2] = ["sop_session_id", "sop_confirm"];

/// A call of a gated tool by its own name: what is ours is taken out of its arguments, and nothing
/// else. `ours` is what our arguments are called at this tool.
pub(super) async fn gated(
    means: Means,
    name: &str,
    tool: Str,
    ours: &[&str; 2],
    arguments: Value,
) -> CallToolResponse {
    let mut rest: Map = arguments.as_object().cloned().unwrap_or_default();
    let mut take = |at: usize| {
        let always = rest.remove(OURS[at]);
        always.or_else(|| rest.remove(ours[at]))
    };
    let (session, confirmed) = (take(0), take(1));
    let confirmed = match confirmed {
        None | Some(Value::Null) => None,
        Some(Value::String(said)) => Some(said),
        Some(other) => {
            let message = format!("`{}` is a text, not {}", ours[1], other.kind());
            return fault(&Fault::Refused(message)).into();
        }
    };
    let mut named = Map::new();
    if let Some(session) = session {
        named.insert(PLAIN[0], session);
    }
    let call = ToolCall {
        tool,
        arguments: rest.into(),
        confirmed,
        again: false,
        by: means.respondent(),
        origin: means.shared.conduct.origin.clone(),
        upstream: means.upstream(),
    };
    through(means, name, &named.into(), call).await
}

async fn through(means: Means, name: &str, arguments: &Value, call: ToolCall) -> CallToolResponse {
    match made(&means, name, arguments, call).await {
        Ok(response) => response,
        Err(why) => fault(&why).into(),
    }
}

async fn made(
    means: &Means,
    name: &str,
    arguments: &Value,
    call: ToolCall,
) -> Result<CallToolResponse, Fault> {
    let id = conversation(means, arguments).await?;
    if let Some((state, responses)) = &means.brought {
        is_of(means, &id, &state.run).await?;
        let answered = pausing::answered(&means.shared, state.clone(), responses, &means.context);
        return match answered.await? {
            (underway, Next::GoOn) => attend(means, name, &id, underway).await,
            (_, Next::Reply(reply)) => Ok(*reply),
        };
    }
    // The call ends with its request; what it came to is recorded either way.
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    match means.engine.call_guided(&id, call, cancel).await? {
        Went::Asks(run) => {
            let underway = Underway::take_up(&means.engine, &run).await?;
            attend(means, name, &id, underway).await
        }
        went => Ok(told_of(went).into()),
    }
}

/// Refuses an answer to a question that is not one of this conversation.
async fn is_of(means: &Means, id: &RunId, run: &RunId) -> Result<(), Fault> {
    let loaded = means.engine.load(run).await?;
    match &loaded.run.started.parent {
        Some(parent) if parent.run == *id => Ok(()),
        Some(_) | None => Err(Fault::NotFound(run.clone())),
    }
}

/// Waits for a call that a person is asked about, and asks the client's user if that can be done.
async fn attend(
    means: &Means,
    name: &str,
    id: &RunId,
    mut underway: Underway,
) -> Result<CallToolResponse, Fault> {
    // A person takes longer than clients wait: the same call comes back to the same question.
    underway.cancelled = Cancelled::GoesOn;
    let wishes = Wishes::new(&means.context, means.log);
    loop {
        let watched = graph_tools::watch(&means.engine, &mut underway, &means.context, &wishes);
        match watched.await? {
            Ended::Finished(_) => {
                let AskedAnswer { answer, edit } =
                    means.engine.asked_answer(id, &underway.run).await?;
                return Ok(match (answer, edit) {
                    (Ok(output), Some(edit)) => with_edit(output, edit).into(),
                    (answer, _) => told_of(Went::Through(answer, None)).into(),
                });
            }
            Ended::Paused(pauses) => {
                let (shared, context) = (&means.shared, &means.context);
                match pausing::put(shared, name, &underway, &pauses, context).await? {
                    None => return Ok(waiting(&underway, &pauses).into()),
                    Some(Next::GoOn) => {}
                    Some(Next::Reply(reply)) => return Ok(*reply),
                }
            }
            Ended::Stopped => {
                let says = "nobody waits for the call any more; make it again to come back to it";
                return Err(Fault::Refused(says.into()));
            }
        }
    }
}

/// A call that waits for a person whom the client cannot reach.
fn waiting(underway: &Underway, pauses: &[(Seq, Pause)]) -> CallToolResult {
    let Underway { run, graph, .. } = underway;
    let mut told = Map::new();
    told.insert("status", "approval_required".into());
    told.insert("workflow_id", run.as_str().into());
    let asked = pauses.iter();
    let asked: Vec<Value> = asked
        .map(|(seq, pause)| question::value(graph, run, *seq, pause))
        .collect();
    if let Some(first) = asked.first() {
        for key in ["checkpoint_id", "node", "message", "options"] {
            told.insert(key, first.get(key).cloned().unwrap_or_default());
        }
    }
    let next = "A person must agree before this call is made. Once they have, repeat the same call to get its result; a changed call asks again.";
    told.insert("next", next.into());
    reply::success(&told.into())
}

/// The result of a call that was made with other arguments than the agent's. It has to know: it goes on
/// from what was really done.
fn with_edit(output: Value, edit: Edit) -> CallToolResult {
    let note = format!(
        "{} changed the arguments before agreeing; the call was made with edited_arguments",
        edit.by
    );
    reply::success(&Value::object([
        ("note", Value::from(note)),
        ("edited_arguments", edit.arguments),
        ("edited_by", edit.by.into()),
        ("result", output),
    ]))
}

fn told_of(went: Went) -> CallToolResult {
    let mut error = Map::new();
    match went {
        Went::Through(Ok(output), None) => return reply::success(&output),
        Went::Through(Ok(output), Some(warning)) => {
            let both = [("warning", Value::from(warning)), ("result", output)];
            return reply::success(&Value::object(both));
        }
        Went::Through(Err(failure), _) => {
            if failure.kind == FailureKind::Rejected {
                error.insert("status", "rejected".into());
            }
            error.insert("code", failure.kind.code().into());
            error.insert("message", failure.to_string().into());
        }
        Went::Asks(run) => {
            let message = format!("a person is asked about the call in {run}");
            error.insert("message", message.into());
        }
        Went::Refused(refusal) => {
            error.insert("message", refusal.says().into());
            told::refusal(&refusal, &mut error);
        }
        Went::InDoubt(tool) => {
            let message = format!(
                "{tool} was called like this before, and nobody knows whether it happened: look, and repeat it with `again: true` if it did not"
            );
            error.insert("message", message.into());
        }
    }
    reply::errored(error)
}
