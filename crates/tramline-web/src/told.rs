//! Replies: what is told, and what went wrong, as JSON.

use crate::Desk;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Told, json};
use tramline_core::flaw::Flaw;
use tramline_core::ids::{BadId, RunId, Seq};
use tramline_core::journal::{Break, Budget, Outcome, Watch};
use tramline_core::navigate::Walk;
use tramline_core::run::Run;
use tramline_core::{Value, question};
use tramline_engine::seams::{RunRow, Status, StoreFault};
use tramline_engine::{Begun, Engine, Fault, Loaded, Owner, status};

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

    /// The request was refused before it was looked at.
    pub(crate) fn with(code: StatusCode, message: impl Into<String>) -> Self {
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

    /// There is no such thing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::NOT_FOUND,
            kind: "not_found",
            message: message.into(),
        }
    }

    /// It is not for a request without a token.
    pub(crate) fn token_needed(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::FORBIDDEN,
            kind: "token_needed",
            message: message.into(),
        }
    }

    /// A one-time code was used before, has expired, or never was one.
    pub(crate) fn bad_code(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::FORBIDDEN,
            kind: "bad_code",
            message: message.into(),
        }
    }

    /// Something changed meanwhile.
    pub(crate) fn stale(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::CONFLICT,
            kind: "stale",
            message: message.into(),
        }
    }

    /// It is understood and cannot be done.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::UNPROCESSABLE_ENTITY,
            kind: "refused",
            message: message.into(),
        }
    }

    /// The text has flaws: the first is told, and how many more there are.
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

impl From<BadId> for Wrong {
    fn from(bad: BadId) -> Self {
        Self::request(bad.to_string())
    }
}

impl From<StoreFault> for Wrong {
    fn from(fault: StoreFault) -> Self {
        Fault::from(fault).into()
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        let (code, kind) = match &fault {
            Fault::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            Fault::Stale { .. } => (StatusCode::CONFLICT, "stale"),
            Fault::PersonNeeded(_) => (StatusCode::FORBIDDEN, "person_needed"),
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

/// How a run of whatever kind began, if its owner asks.
pub(crate) async fn begun(desk: &Desk, owner: &Owner, id: &RunId) -> Result<Begun, Wrong> {
    let begun = desk.owners.begun(&desk.engine, id).await?;
    match begun.owner == *owner {
        true => Ok(begun),
        false => Err(Fault::NotFound(id.clone()).into()),
    }
}

/// The kind of a run in one word.
pub(crate) fn kind(begun: &Begun) -> &'static str {
    match begun.guided {
        true => "guided",
        false => "graph",
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

/// How a run stands, and how it began.
pub(crate) fn whole(loaded: &Loaded) -> Told {
    let Loaded { run, entries, .. } = loaded;
    let mut told = standing(run);
    let watch = Watch::current(entries);
    told["kind"] = json!("graph");
    told["input"] = plain(&run.started.input);
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

/// Breakpoints as the studio writes them.
pub(crate) fn breakpoints(watch: &Watch) -> Told {
    let one = |spot: &Break| match &spot.condition {
        None => json!({"node": spot.node}),
        Some(when) => json!({"node": spot.node, "when": plain(when)}),
    };
    watch.breaks.iter().map(one).collect()
}

/// How a guided run stands.
pub(crate) fn guided(walk: &Walk) -> Told {
    let outcome = walk.outcome.as_ref();
    let status = outcome.map_or(Status::Guided.as_str(), Outcome::word);
    json!({
        "run_id": walk.id,
        "kind": "guided",
        "status": status,
        "workflow": walk.sop().name,
        "session_id": walk.begun.session,
        "started_ms": walk.started_ms,
        "updated_ms": walk.updated_ms,
        "events": walk.seq,
        "steps": walk.moves,
        "questions": [],
        "outcome": outcome.map(|_| json!({"status": status})),
        "input": Told::Null,
        "breakpoints": [],
        "stepping": false,
    })
}

/// Why what a run does not ask any more cannot be answered.
pub(crate) fn answered_already(run: &Run, asked: Seq) -> Wrong {
    match run.outcome {
        Some(_) => tramline_engine::over(run).into(),
        None => tramline_engine::stale(run, asked).into(),
    }
}

/// What a run asks.
pub(crate) fn questions(run: &Run) -> Vec<Told> {
    let asked = run.pauses.iter();
    let asked = asked.map(|(seq, pause)| question::value(&run.graph, &run.id, *seq, pause));
    asked.map(|value| plain(&value)).collect()
}
