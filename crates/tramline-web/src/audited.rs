//! Requests that change something, in the audit: noted where every request passes.

use crate::answers::Speaker;
use crate::told::Wrong;
use crate::{Desk, answers};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value as Told;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_engine::audit::Note;
use tramline_engine::{Owner, Respondent};

/// By which door these commands come.
const DOOR: &str = "http";
/// Requests that compute something and change nothing. Everything else that is no GET is noted.
const PURE: [&str; 4] = ["/api/check", "/api/edit", "/api/eval", "/api/render"];
/// Larger bodies are not looked at, in bytes: what commands say is short.
const LOOKED_AT_BYTES_MAX: usize = 64 << 10;

/// Notes a request that changes something, with what came of it, before it is answered.
pub(crate) async fn noting(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if reads || PURE.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let (request, said) = match looked_at(request).await {
        Ok(looked_at) => looked_at,
        Err(wrong) => return wrong.into_response(),
    };
    let note = begun(&desk, &request, &said);
    let work = async { told(next.run(request).await).await };
    let noted = desk
        .engine
        .noting(note, work, |note, (_, told)| complete(note, told));
    match noted.await {
        Ok((response, _)) => response,
        Err(fault) => Wrong::from(fault).into_response(),
    }
}

/// A request with what its body says, if that is short.
async fn looked_at(request: Request) -> Result<(Request, Told), Wrong> {
    let length = axum::body::HttpBody::size_hint(request.body()).exact();
    if length.is_none_or(|length| length > LOOKED_AT_BYTES_MAX as u64) {
        return Ok((request, Told::Null));
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, LOOKED_AT_BYTES_MAX).await;
    let bytes = bytes.map_err(|error| Wrong::request(error.to_string()))?;
    let said = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok((Request::from_parts(parts, Body::from(bytes)), said))
}

fn begun(desk: &Desk, request: &Request, said: &Told) -> Note {
    let text = |key: &str| said.get(key).and_then(Told::as_str);
    let extensions = request.extensions();
    let owner = extensions.get::<Owner>().cloned().unwrap_or_default();
    let speaker = Speaker::of(extensions);
    let by = answers::respondent(&owner, text("by"), &speaker).name;
    let (command, run) = command(request);
    let mut note = Note::new(command, by.as_str());
    note.door = Some(DOOR.to_owned());
    note.person = extensions.get::<Respondent>().is_some();
    note.run = run.map(|run| run.to_string());
    note.session = text("session_id").map(str::to_owned);
    note.why = text("why").map(str::to_owned);
    if !said.is_null() {
        note.arguments = Some(desk.engine.audited(&said.clone().into()));
    }
    note
}

/// What a request commands, and about which run.
fn command(request: &Request) -> (String, Option<RunId>) {
    let parts: Vec<&str> = request.uri().path().split('/').skip(2).collect();
    match parts.as_slice() {
        ["approvals", point] => {
            let point = point.parse::<Checkpoint>().ok();
            ("answer".to_owned(), point.map(|point| point.run))
        }
        ["documents", ..] => ("edit".to_owned(), None),
        ["tools", _, "runs"] => ("run".to_owned(), None),
        ["runs", run, what] => ((*what).to_owned(), run.parse().ok()),
        [.., last] => ((*last).to_owned(), None),
        [] => ("request".to_owned(), None),
    }
}

/// A response with what it says, if that is short.
async fn told(response: Response) -> (Response, Told) {
    let refused = !response.status().is_success();
    let (parts, body) = response.into_parts();
    let length = axum::body::HttpBody::size_hint(&body).exact();
    if length.is_none_or(|length| length > LOOKED_AT_BYTES_MAX as u64) {
        return (
            Response::from_parts(parts, body),
            outcome(refused, Told::Null),
        );
    }
    let Ok(bytes) = to_bytes(body, LOOKED_AT_BYTES_MAX).await else {
        return (Response::from_parts(parts, Body::empty()), Told::Null);
    };
    let told = serde_json::from_slice(&bytes).unwrap_or_default();
    let response = Response::from_parts(parts, Body::from(bytes));
    (response, outcome(refused, told))
}

/// What a reply says, with whether it is a refusal.
fn outcome(refused: bool, told: Told) -> Told {
    serde_json::json!({ "refused": refused, "told": told })
}

fn complete(note: &mut Note, outcome: &Told) {
    let told = &outcome["told"];
    let text = |at: &Told| at.as_str().map(str::to_owned);
    if note.run.is_none() {
        note.run = text(&told["run_id"]);
    }
    if outcome["refused"] == true {
        note.result = "refused".to_owned();
        note.error = text(&told["error"]["message"]);
        return;
    }
    note.result = text(&told["status"]).unwrap_or_else(|| "done".to_owned());
}
