//! `run_await`: waits for a run for a bounded time.

use crate::elicitation::{self, AfterElicitation};
use crate::progress::{NotifyOptions, wait_with_progress};
use crate::reply;
use crate::resources::shorten_result;
use crate::run_wait::{AwaitedRun, OnCancel};
use crate::tasks;
use crate::tool::CallContext;
use crate::tools::debugging::{current_state, run_id};
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::{DriveOutcome, Fault};
use tramline_expr::{Map, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, InvalidId, RunId};

const TOOL: &str = "run_await";

/// Longest wait of one call, in seconds: clients give a call 60 seconds unless configured otherwise.
const WAIT_SECONDS_MAX: f64 = 55.0;

/// What a wait came to.
enum AwaitOutcome {
    /// The run ended, asks or is still running: its state is the reply.
    State,
    /// The client's user is asked.
    Question(Box<CallToolResponse>),
}

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let (id, asked) = match read_arguments(&arguments) {
        Ok(read) => read,
        Err(fault) => return reply::fault_reply(&fault, None).into(),
    };
    let bound = wait_bound(&means, &arguments);
    let waited = tokio::time::timeout(bound, wait_for_run(&means, &id, asked));
    match waited.await {
        Ok(Ok(AwaitOutcome::Question(question))) => *question,
        Ok(Err(fault)) => reply::fault_reply(&fault, Some(&id)).into(),
        Ok(Ok(AwaitOutcome::State)) | Err(_) => {
            // A wait that is too short to drive the run must not leave it without a driver.
            tasks::drive_in_background(&means.shared, &id);
            match state(&means, &id).await {
                Ok(told) => state_reply(told, &id).into(),
                Err(fault) => reply::fault_reply(&fault, Some(&id)).into(),
            }
        }
    }
}

fn read_arguments(arguments: &Value) -> Result<(RunId, Option<Checkpoint>), Fault> {
    let id = run_id(arguments, "run_id")?;
    let asked = arguments.get("checkpoint_id").and_then(Value::as_str);
    let asked = asked.map(str::parse::<Checkpoint>).transpose();
    let asked = asked.map_err(|bad: InvalidId| Fault::Rejected(bad.to_string()))?;
    match asked {
        Some(asked) if asked.run != id => Err(Fault::Rejected(format!(
            "{asked} is not a question of {id}"
        ))),
        asked => Ok((id, asked)),
    }
}

/// How long to wait: what the caller asked for, or the server's bound for a call.
fn wait_bound(means: &CallContext, arguments: &Value) -> Duration {
    match arguments.get("wait_seconds").and_then(Value::as_f64) {
        Some(seconds) => Duration::from_secs_f64(seconds.clamp(0.0, WAIT_SECONDS_MAX)),
        None => means.shared.options.call_wait,
    }
}

async fn wait_for_run(
    means: &CallContext,
    id: &RunId,
    asked: Option<Checkpoint>,
) -> Result<AwaitOutcome, Fault> {
    if let Some((state, responses)) = &means.client_answers {
        let answered =
            elicitation::apply_answers(&means.shared, state.clone(), responses, &means.request);
        if let (_, AfterElicitation::Reply(_)) = answered.await? {
            return Ok(AwaitOutcome::State);
        }
    }
    if let Some(asked) = &asked {
        means.engine.wait_until_answered(asked).await?;
    }
    let mut underway = AwaitedRun::load(&means.engine, id).await?;
    underway.on_cancel = OnCancel::Continue;
    let wishes = NotifyOptions::new(&means.request, means.log);
    match wait_with_progress(&means.engine, &mut underway, &means.request, &wishes).await? {
        DriveOutcome::Paused(pauses) if elicitation::asks_in_reply(&means.request) => {
            let run = underway.state(&means.engine).await?;
            underway.graph = Arc::clone(&run.graph);
            let put =
                elicitation::ask_client(&means.shared, TOOL, &underway, &pauses, &means.request);
            Ok(match put.await? {
                Some(AfterElicitation::Reply(question)) => AwaitOutcome::Question(question),
                Some(AfterElicitation::Resume) | None => AwaitOutcome::State,
            })
        }
        DriveOutcome::Paused(_) | DriveOutcome::Finished(_) | DriveOutcome::Stopped => {
            Ok(AwaitOutcome::State)
        }
    }
}

/// The reply with a run's state. A large result is a preview with a link.
fn state_reply(mut told: Map, id: &RunId) -> CallToolResult {
    let link = shorten_result(&mut told, id);
    let mut reply = reply::success(&told.into());
    reply.content.extend(link.map(ContentBlock::ResourceLink));
    reply
}

async fn state(means: &CallContext, id: &RunId) -> Result<Map, Fault> {
    let loaded = means.engine.load(id).await?;
    let mut told = current_state(&means.engine, &loaded).await;
    if let Some(at) = tasks::status_message(&loaded.run).filter(|_| loaded.run.pauses.is_empty()) {
        told.insert("progress", at.into());
    }
    let next = match (&loaded.run.outcome, loaded.run.pauses.is_empty()) {
        (Some(_), _) => return Ok(told),
        (None, true) => "call run_await again",
        (None, false) => {
            "answer with run_answer, or have the user answer and call run_await with checkpoint_id"
        }
    };
    told.insert("next", next.into());
    Ok(told)
}

/// The reply of a workflow's own tool to a call that its run outlasts.
pub(crate) fn running_reply(graph: &Graph, run: &RunId) -> CallToolResult {
    let mut told = Map::new();
    told.insert("status", "running".into());
    told.insert("run_id", run.as_str().into());
    told.insert(
        "next",
        "the run continues; call run_await with this run_id".into(),
    );
    if graph.workflow.output_schema.is_none() {
        return reply::success(&told.into());
    }
    // Clients reject a success that does not fit the tool's output schema.
    told.insert("code", "running".into());
    reply::without_unpromised_structure(graph, reply::error_reply(told))
}
