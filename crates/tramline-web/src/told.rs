//! Replies: what is told, and what went wrong, as JSON.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Told, json};
use tramline_core::ids::{BadId, RunId};
use tramline_core::run::Run;
use tramline_core::{Value, question};
use tramline_engine::seams::RunRow;
use tramline_engine::{Engine, Fault, Loaded, Owner, status};

/// A reply that says what went wrong.
pub(crate) struct Wrong {
    code: StatusCode,
    kind: &'static str,
    message: String,
}

impl Wrong {
    /// The request itself cannot be understood.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::BAD_REQUEST,
            kind: "bad_request",
            message: message.into(),
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl From<BadId> for Wrong {
    fn from(bad: BadId) -> Self {
        Self::request(bad.to_string())
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        let (code, kind) = match &fault {
            Fault::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            Fault::Stale { .. } => (StatusCode::CONFLICT, "stale"),
            Fault::Over { .. } => (StatusCode::CONFLICT, "over"),
            Fault::Elsewhere { .. } => (StatusCode::CONFLICT, "elsewhere"),
            Fault::Expired { .. } => (StatusCode::GONE, "expired"),
            Fault::Quota(_) => (StatusCode::TOO_MANY_REQUESTS, "quota"),
            Fault::Refused(_) | Fault::BadInput { .. } => (StatusCode::BAD_REQUEST, "refused"),
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

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        let told = json!({"error": {"kind": self.kind, "message": self.message}});
        (self.code, Json(told)).into_response()
    }
}

/// A value of ours as a reply has it.
pub(crate) fn plain(value: &Value) -> Told {
    Told::from(value)
}

/// A run with its journal, if its owner asks.
pub(crate) async fn load(engine: &Engine, owner: &Owner, id: &RunId) -> Result<Loaded, Wrong> {
    let loaded = engine.load(id).await?;
    match loaded.run.started.owner == owner.0 {
        true => Ok(loaded),
        false => Err(Fault::NotFound(id.clone()).into()),
    }
}

/// What the list of runs shows of one.
pub(crate) fn row(row: &RunRow) -> Told {
    json!({
        "run_id": row.run,
        "status": row.head.status.as_str(),
        "workflow": row.head.workflow,
        "session_id": row.head.session,
        "started_ms": row.head.started_ms,
        "updated_ms": row.head.updated_ms,
        "events": row.last,
        "bytes": row.bytes,
        "driven": row.driven,
    })
}

/// How a run stands.
pub(crate) fn standing(run: &Run) -> Told {
    let outcome = run.outcome.as_ref();
    let outcome = outcome.map(|outcome| plain(&tramline_core::trace::outcome(&run.graph, outcome)));
    json!({
        "run_id": run.id,
        "status": status(run).as_str(),
        "workflow": run.graph.workflow.name,
        "session_id": run.started.session,
        "started_ms": run.started_ms,
        "updated_ms": run.updated_ms,
        "events": run.seq,
        "steps": run.steps,
        "questions": questions(run),
        "outcome": outcome,
    })
}

/// What a run asks.
pub(crate) fn questions(run: &Run) -> Vec<Told> {
    let asked = run.pauses.iter();
    let asked = asked.map(|(seq, pause)| question::value(&run.graph, &run.id, *seq, pause));
    asked.map(|value| plain(&value)).collect()
}
