//! Replies and errors as JSON.

use crate::AppState;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Told, json};
use tramline_engine::ports::{RunRow, RunStatus, StoreFault};
use tramline_engine::{Engine, Fault, LoadedRun, RunHeader, RunOwner, run_status};
use tramline_expr::Value;
use tramline_sop::SopSession;
use tramline_views::pause_view;
use tramline_workflow::flaw::Flaw;
use tramline_workflow::ids::{InvalidId, RunId, Seq};
use tramline_workflow::journal::{BreakpointSet, Budget, NodeBreakpoint, Outcome};
use tramline_workflow::run::Run;

/// An error reply.
pub(crate) struct ApiError {
    code: StatusCode,
    kind: &'static str,
    message: String,
}

impl ApiError {
    /// The request is malformed.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::BAD_REQUEST,
            kind: "bad_request",
            message: message.into(),
        }
    }

    /// The request was rejected before it was handled.
    pub(crate) fn with_status(code: StatusCode, message: impl Into<String>) -> Self {
        let kind = match code {
            StatusCode::PAYLOAD_TOO_LARGE => "too_large",
            _ => "bad_request",
        };
        Self {
            code,
            kind,
            message: message.into(),
        }
    }

    /// The requested thing does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::NOT_FOUND,
            kind: "not_found",
            message: message.into(),
        }
    }

    /// The request needs a token.
    pub(crate) fn token_needed(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::FORBIDDEN,
            kind: "token_needed",
            message: message.into(),
        }
    }

    /// A one-time code is invalid, used or expired.
    pub(crate) fn bad_code(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::FORBIDDEN,
            kind: "bad_code",
            message: message.into(),
        }
    }

    /// Something changed in the meantime.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::CONFLICT,
            kind: "stale",
            message: message.into(),
        }
    }

    /// The request is valid but cannot be carried out.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::UNPROCESSABLE_ENTITY,
            kind: "refused",
            message: message.into(),
        }
    }

    /// The text has flaws: the message has the first and the number of others.
    pub(crate) fn flawed(flaws: Vec<Flaw>) -> Self {
        let first = flaws.first().map(ToString::to_string).unwrap_or_default();
        let more = match flaws.len() {
            0 | 1 => String::new(),
            many => format!("; and {} more", many - 1),
        };
        Self {
            code: StatusCode::UNPROCESSABLE_ENTITY,
            kind: "flawed",
            message: format!("{first}{more}"),
        }
    }
}

impl From<InvalidId> for ApiError {
    fn from(bad: InvalidId) -> Self {
        Self::bad_request(bad.to_string())
    }
}

impl From<StoreFault> for ApiError {
    fn from(fault: StoreFault) -> Self {
        Fault::from(fault).into()
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let (code, kind) = match &fault {
            Fault::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            Fault::Stale { .. } => (StatusCode::CONFLICT, "stale"),
            Fault::PersonNeeded(_) => (StatusCode::FORBIDDEN, "person_needed"),
            Fault::Ended { .. } => (StatusCode::CONFLICT, "over"),
            Fault::Elsewhere { .. } => (StatusCode::CONFLICT, "elsewhere"),
            Fault::KeyReused { .. } => (StatusCode::CONFLICT, "key_reused"),
            Fault::Expired { .. } => (StatusCode::GONE, "expired"),
            Fault::Quota(_) => (StatusCode::TOO_MANY_REQUESTS, "quota"),
            Fault::Rejected(_) | Fault::InvalidInput { .. } => (StatusCode::BAD_REQUEST, "refused"),
            Fault::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Fault::Store(_) | Fault::Damaged { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "fault"),
        };
        let message = fault.to_string();
        Self {
            code,
            kind,
            message,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let told = json!({"error": {"kind": self.kind, "message": self.message}});
        (self.code, Json(told)).into_response()
    }
}

/// A value as JSON.
pub(crate) fn to_json(value: &Value) -> Told {
    Told::from(value)
}

/// A run with its journal, if the caller owns it.
pub(crate) async fn load(
    engine: &Engine,
    owner: &RunOwner,
    id: &RunId,
) -> Result<LoadedRun, ApiError> {
    let loaded = engine.load(id).await?;
    match loaded.run.started.owner == owner.0 {
        true => Ok(loaded),
        false => Err(Fault::NotFound(id.clone()).into()),
    }
}

/// How a run or session started, if the caller owns it.
pub(crate) async fn load_started(
    desk: &AppState,
    owner: &RunOwner,
    id: &RunId,
) -> Result<RunHeader, ApiError> {
    let begun = desk.owners.started(&desk.engine, id).await?;
    match begun.owner == *owner {
        true => Ok(begun),
        false => Err(Fault::NotFound(id.clone()).into()),
    }
}

/// The kind of a run.
pub(crate) fn run_kind(begun: &RunHeader) -> &'static str {
    match begun.is_sop_session {
        true => "guided",
        false => "graph",
    }
}

/// A run in the list of runs.
pub(crate) fn run_row(row: &RunRow) -> Told {
    json!({
        "run_id": row.run,
        "status": row.index_row.status.as_str(),
        "workflow": row.index_row.workflow,
        "session_id": row.index_row.session,
        "started_ms": row.index_row.started_ms,
        "updated_ms": row.index_row.updated_ms,
        "events": row.last,
        "bytes": row.bytes,
        "driven": row.driven,
    })
}

/// The status of a run.
pub(crate) fn run_status_json(run: &Run) -> Told {
    let outcome = run.outcome.as_ref();
    let outcome =
        outcome.map(|outcome| to_json(&tramline_views::trace::outcome_value(&run.graph, outcome)));
    json!({
        "run_id": run.id,
        "status": run_status(run).as_str(),
        "workflow": run.graph.workflow.name,
        "session_id": run.started.session,
        "started_ms": run.started_ms,
        "updated_ms": run.updated_ms,
        "events": run.seq,
        "steps": run.step_count,
        "questions": questions(run),
        "outcome": outcome,
    })
}

/// The status of a run, and how it started.
pub(crate) fn run_details(loaded: &LoadedRun) -> Told {
    let LoadedRun { run, entries, .. } = loaded;
    let mut told = run_status_json(run);
    let watch = BreakpointSet::current(entries);
    told["kind"] = json!("graph");
    told["input"] = to_json(&run.started.input);
    told["breakpoints"] = breakpoints(&watch);
    told["stepping"] = json!(watch.stepping);
    if let Some(fork) = &run.started.fork {
        told["forked_from"] = json!({"run_id": fork.run, "seq": fork.seq});
    }
    if let Some(parent) = &run.started.parent {
        told["parent"] = json!({"run_id": parent.run, "step": parent.step});
    }
    if run.budget != Budget::default() {
        told["budget"] = json!(run.budget);
    }
    told
}

/// The servers that are being started in this process: the calls of a run may wait for them.
pub(crate) fn starting_servers(engine: &Engine) -> Told {
    let all = engine.tools().starting().into_iter();
    all.map(|one| {
        let elapsed = u64::try_from(one.elapsed.as_millis()).unwrap_or(u64::MAX);
        json!({"server": one.server, "elapsed_ms": elapsed})
    })
    .collect()
}

/// Breakpoints in the API's format.
pub(crate) fn breakpoints(watch: &BreakpointSet) -> Told {
    let one = |spot: &NodeBreakpoint| {
        let mut told = json!({"node": spot.node});
        if let Some(when) = &spot.condition {
            told["when"] = to_json(when);
        }
        if let Some(output) = &spot.output {
            told["output"] = to_json(output);
        }
        told
    };
    watch.breaks.iter().map(one).collect()
}

/// The status of an SOP session.
pub(crate) fn sop_status(walk: &SopSession) -> Told {
    let outcome = walk.outcome.as_ref();
    let status = outcome.map_or(RunStatus::SopSession.as_str(), Outcome::status);
    json!({
        "run_id": walk.id,
        "kind": "guided",
        "status": status,
        "workflow": walk.sop().name,
        "session_id": walk.started.session,
        "started_ms": walk.started_ms,
        "updated_ms": walk.updated_ms,
        "events": walk.seq,
        "steps": walk.move_count,
        "questions": [],
        "outcome": outcome.map(|_| json!({"status": status})),
        "input": Told::Null,
        "breakpoints": [],
        "stepping": false,
    })
}

/// The error for an answer to a question that is no longer open.
pub(crate) fn answered_already(run: &Run, asked: Seq) -> ApiError {
    match run.outcome {
        Some(_) => tramline_engine::ended_fault(run).into(),
        None => tramline_engine::stale_checkpoint(run, asked).into(),
    }
}

/// The open questions of a run.
pub(crate) fn questions(run: &Run) -> Vec<Told> {
    let asked = run.pauses.iter();
    let asked = asked.map(|(seq, pause)| pause_view::pause_value(&run.graph, &run.id, *seq, pause));
    asked.map(|value| to_json(&value)).collect()
}
