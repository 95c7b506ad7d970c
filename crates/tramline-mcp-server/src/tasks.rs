//! Long runs as MCP tasks: the caller gets the run's id and polls for its result.
//!
//! A task is a run, and its state is read from the journal, so it outlives the connection and the process.

use super::caller::Caller;
use super::run_wait::AwaitedRun;
use super::{SharedState, audit_log, elicitation, reply};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, DetailedTask, ElicitResult, GetTaskResult, InputResponses,
    JsonObject, Task, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::{Fault, clock};
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::Outcome;
use tramline_workflow::run::Run;

/// A run that is done within this time is answered directly, without a task.
pub(super) const TASK_AFTER: Duration = Duration::from_secs(1);

/// How long a run can be polled as a task after it started, in milliseconds.
const TASK_TTL_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Recommended poll interval, in milliseconds: about the length of a step.
const POLL_EVERY_MS: u64 = 1_000;

/// Whether a caller supports tasks.
pub(super) fn supports_tasks(context: &RequestContext<RoleServer>) -> bool {
    context
        .client_capabilities()
        .is_some_and(|can| can.supports_tasks())
}

/// Ends a call with a task while its run continues.
pub(super) async fn create_task(shared: &SharedState, run: &RunId) -> CallToolResponse {
    match shared.engine.load(run).await {
        Ok(loaded) => CreateTaskResult::new(task_of(&loaded.run)).into(),
        Err(fault) => reply::fault_reply(&fault, Some(run)).into(),
    }
}

/// The state of a task.
pub(super) async fn get(
    shared: &Arc<SharedState>,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    let run = find(shared, id, context).await?;
    let payload = match (&run.outcome, run.pauses.is_empty()) {
        (Some(outcome @ Outcome::Aborted { .. }), _) if !outcome.is_expired() => {
            TaskPayload::Cancelled
        }
        (Some(outcome), _) => TaskPayload::Completed {
            result: result_object(&run, outcome)?,
        },
        (None, false) if elicitation::shows_forms(context) => TaskPayload::InputRequired {
            input_requests: elicitation::input_requests(&shared.engine, &run.id, |_| true)
                .await
                .map_err(|fault| internal(&fault))?,
        },
        (None, _) => {
            drive_in_background(shared, &run.id);
            TaskPayload::Working
        }
    };
    Ok(GetTaskResult::new(DetailedTask::new(
        task_of(&run),
        payload,
    )))
}

/// Applies answers to the questions of a task. Unknown keys are ignored.
pub(super) async fn update(
    shared: &Arc<SharedState>,
    id: &str,
    responses: &InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let note = audit_log::request_note(context, "tasks/update", id);
    let work = async {
        let run = find(shared, id, context).await?;
        answer(shared, &run, responses, context).await?;
        drive_in_background(shared, &run.id);
        Ok(())
    };
    let noted =
        shared
            .engine
            .audited_command(note, Box::pin(work), audit_log::record_request_result);
    noted.await.map_err(|fault| internal(&fault))?
}

async fn answer(
    shared: &SharedState,
    run: &Run,
    responses: &InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    for (key, response) in responses {
        let Ok(asked) = key.parse::<Checkpoint>() else {
            continue;
        };
        let pause = run.pauses.get(&asked.seq).filter(|_| asked.run == run.id);
        let response = serde_json::from_value::<ElicitResult>(response.clone());
        if let (Some(pause), Ok(response)) = (pause, response) {
            elicitation::record_answer(&shared.engine, &asked, pause, &response, context)
                .await
                .map_err(|fault| ErrorData::invalid_params(fault.to_string(), None))?;
        }
    }
    Ok(())
}

/// Aborts a task's run.
pub(super) async fn cancel(
    shared: &Arc<SharedState>,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let why = Some("the task was cancelled".to_owned());
    let by = Caller::of(context).journal_name(context);
    let note = audit_log::request_note(context, "tasks/cancel", id);
    let work = async {
        let run = find(shared, id, context).await?;
        match shared.engine.abort(&run.id, by, why).await {
            Ok(()) | Err(Fault::Ended { .. } | Fault::Expired { .. }) => Ok(()),
            Err(fault) => Err(internal(&fault)),
        }
    };
    let noted = shared
        .engine
        .audited_command(note, work, audit_log::record_request_result);
    noted.await.map_err(|fault| internal(&fault))?
}

/// Drives a run that has no driver, without waiting for it.
pub(super) fn drive_in_background(shared: &Arc<SharedState>, run: &RunId) {
    let (shared, run) = (Arc::clone(shared), run.clone());
    tokio::spawn(async move {
        let Ok(Some(row)) = shared.engine.store().row(&run).await else {
            return;
        };
        if !row.driven
            && let Ok(mut underway) = AwaitedRun::load(&shared.engine, &run).await
        {
            let _ = underway.wait(&shared.engine).await;
        }
    });
}

/// The run behind a task's id.
async fn find(
    shared: &SharedState,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<Run, ErrorData> {
    let unknown = |why: &str| ErrorData::invalid_params(format!("unknown task `{id}`{why}"), None);
    let run: RunId = id.parse().map_err(|_| unknown(""))?;
    let caller = Caller::of(context);
    let run = match caller.load_run(&shared.engine, &run, None).await {
        Ok(loaded) => loaded.run,
        Err(Fault::NotFound(_)) => return Err(unknown("")),
        Err(fault) => return Err(internal(&fault)),
    };
    if clock::now_ms() - run.started_ms > TASK_TTL_MS {
        let why = ": it has expired; the run of the same id can still be read";
        return Err(unknown(why));
    }
    Ok(run)
}

/// A run as a task, without its state.
fn task_of(run: &Run) -> Task {
    let (began, changed) = (
        reply::timestamp(run.started_ms),
        reply::timestamp(run.updated_ms),
    );
    let task = Task::new(run.id.as_str(), TaskStatus::Working, began, changed)
        .with_ttl_ms(TASK_TTL_MS as u64)
        .with_poll_interval_ms(POLL_EVERY_MS);
    match status_message(run) {
        Some(words) => task.with_status_message(words),
        None => task,
    }
}

/// Where a run is, as text.
pub(super) fn status_message(run: &Run) -> Option<String> {
    if let Some(pause) = run.pauses.values().next() {
        return Some(tramline_views::pause_view::message(&run.graph, pause));
    }
    let open = run.open_steps.values().next()?;
    Some(format!("at {}", run.graph.node(open.node).id))
}

fn result_object(run: &Run, outcome: &Outcome) -> Result<JsonObject, ErrorData> {
    let reply = reply::outcome_reply(&run.graph, &run.id, outcome);
    match serde_json::to_value(reply::without_unpromised_structure(&run.graph, reply)) {
        Ok(serde_json::Value::Object(map)) => Ok(map),
        Ok(_) | Err(_) => Err(ErrorData::internal_error(
            "cannot serialize the result",
            None,
        )),
    }
}

fn internal(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.to_string(), None)
}
