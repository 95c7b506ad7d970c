//! Long runs as tasks: the caller gets the run's id and comes back for its result.
//!
//! A task is a run and its state is read from the journal, so that it outlives the connection, the
//! server and the process.

use super::caller::Caller;
use super::underway::Underway;
use super::{Shared, audited, pausing, reply};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, DetailedTask, ElicitResult, GetTaskResult, InputResponses,
    JsonObject, Task, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::journal::Outcome;
use tramline_core::run::Run;
use tramline_engine::{Fault, clock};

/// A run that takes no longer is answered at once, as it would be without tasks.
pub(super) const HAND_OVER_AFTER: Duration = Duration::from_secs(1);

/// A run can be asked for as a task so long after it began.
const GOOD_FOR_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// How often callers should ask: a run has steps of about this length.
const POLL_EVERY_MS: u64 = 1_000;

/// Whether a caller knows what a task is.
pub(super) fn known(context: &RequestContext<RoleServer>) -> bool {
    context
        .client_capabilities()
        .is_some_and(|can| can.supports_tasks())
}

/// Ends a call whose run goes on.
pub(super) async fn hand_over(shared: &Shared, run: &RunId) -> CallToolResponse {
    match shared.engine.load(run).await {
        Ok(loaded) => CreateTaskResult::new(task(&loaded.run)).into(),
        Err(fault) => reply::fault(&fault, Some(run)).into(),
    }
}

/// How a task stands.
pub(super) async fn get(
    shared: &Arc<Shared>,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    let run = find(shared, id, context).await?;
    let payload = match (&run.outcome, run.pauses.is_empty()) {
        (Some(outcome @ Outcome::Aborted { .. }), _) if !outcome.is_expired() => {
            TaskPayload::Cancelled
        }
        (Some(outcome), _) => TaskPayload::Completed {
            result: result(&run, outcome)?,
        },
        (None, false) if pausing::shows_forms(context) => TaskPayload::InputRequired {
            input_requests: pausing::requests(&shared.engine, &run.id, |_| true)
                .await
                .map_err(|fault| internal(&fault))?,
        },
        (None, _) => {
            see_to(shared, &run.id);
            TaskPayload::Working
        }
    };
    Ok(GetTaskResult::new(DetailedTask::new(task(&run), payload)))
}

/// Takes answers to what a task asks. Keys that are not asked for are passed over.
pub(super) async fn update(
    shared: &Arc<Shared>,
    id: &str,
    responses: &InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let run = find(shared, id, context).await?;
    let note = audited::request(context, "tasks/update", &run.id);
    let work = answer(shared, &run, responses, context);
    let noted = shared.engine.noting(note, work, audited::came_of_request);
    noted.await.map_err(|fault| internal(&fault))??;
    see_to(shared, &run.id);
    Ok(())
}

async fn answer(
    shared: &Shared,
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
            pausing::take(&shared.engine, &asked, pause, &response, context)
                .await
                .map_err(|fault| ErrorData::invalid_params(fault.to_string(), None))?;
        }
    }
    Ok(())
}

/// Ends a task's run.
pub(super) async fn cancel(
    shared: &Arc<Shared>,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let run = find(shared, id, context).await?;
    let why = Some("the task was cancelled".to_owned());
    let by = Caller::of(context).by(context);
    let note = audited::request(context, "tasks/cancel", &run.id);
    let work = async {
        match shared.engine.abort(&run.id, by, why).await {
            Ok(()) | Err(Fault::Over { .. } | Fault::Expired { .. }) => Ok(()),
            Err(fault) => Err(internal(&fault)),
        }
    };
    let noted = shared.engine.noting(note, work, audited::came_of_request);
    noted.await.map_err(|fault| internal(&fault))?
}

/// Drives a run on that nobody drives, without waiting for it.
fn see_to(shared: &Arc<Shared>, run: &RunId) {
    let (shared, run) = (Arc::clone(shared), run.clone());
    tokio::spawn(async move {
        let Ok(Some(row)) = shared.engine.store().row(&run).await else {
            return;
        };
        if !row.driven
            && let Ok(mut underway) = Underway::take_up(&shared.engine, &run).await
        {
            let _ = underway.ended(&shared.engine).await;
        }
    });
}

/// The run behind a task's id.
async fn find(
    shared: &Shared,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<Run, ErrorData> {
    let unknown =
        |why: &str| ErrorData::invalid_params(format!("there is no task `{id}`{why}"), None);
    let run: RunId = id.parse().map_err(|_| unknown(""))?;
    let caller = Caller::of(context);
    let run = match caller.load(&shared.engine, &run, None).await {
        Ok(loaded) => loaded.run,
        Err(Fault::NotFound(_)) => return Err(unknown("")),
        Err(fault) => return Err(internal(&fault)),
    };
    if clock::now_ms() - run.started_ms > GOOD_FOR_MS {
        let why = format!(": it has expired; `tramline runs show {id}` still shows the run");
        return Err(unknown(&why));
    }
    Ok(run)
}

/// A run as a task, before anything is said of how it stands.
fn task(run: &Run) -> Task {
    let (began, changed) = (reply::moment(run.started_ms), reply::moment(run.updated_ms));
    let task = Task::new(run.id.as_str(), TaskStatus::Working, began, changed)
        .with_ttl_ms(GOOD_FOR_MS as u64)
        .with_poll_interval_ms(POLL_EVERY_MS);
    match words(run) {
        Some(words) => task.with_status_message(words),
        None => task,
    }
}

/// Where a run is, for people.
fn words(run: &Run) -> Option<String> {
    if let Some(pause) = run.pauses.values().next() {
        return Some(tramline_core::question::says(&run.graph, pause));
    }
    let open = run.open.values().next()?;
    Some(format!("at {}", run.graph.node(open.node).id))
}

fn result(run: &Run, outcome: &Outcome) -> Result<JsonObject, ErrorData> {
    let reply = reply::outcome(&run.graph, &run.id, outcome);
    match serde_json::to_value(reply::as_promised(&run.graph, reply)) {
        Ok(serde_json::Value::Object(map)) => Ok(map),
        Ok(_) | Err(_) => Err(ErrorData::internal_error(
            "the result cannot be shown",
            None,
        )),
    }
}

fn internal(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.to_string(), None)
}
