//! Records requests that change something in the audit log, in one middleware for all routes.

use crate::answers::RequestAuthor;
use crate::response::ApiError;
use crate::{AppState, answers};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value as Told;
use tramline_engine::audit::AuditNote;
use tramline_engine::{Respondent, RunOwner};
use tramline_workflow::ids::{Checkpoint, RunId};

/// The channel these commands arrive by, as recorded in the audit log.
const HTTP_DOOR: &str = "http";
/// Requests that compute something and change nothing. All other requests except GET are recorded.
const UNAUDITED: [&str; 4] = ["/api/check", "/api/edit", "/api/eval", "/api/render"];
/// Larger bodies are not inspected, in bytes: commands are short.
const INSPECTED_BYTES_MAX: usize = 64 << 10;

/// Records a request that changes something, with its outcome, before it is answered.
pub(crate) async fn record_request(
    State(desk): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if !is_audited(&request) {
        return next.run(request).await;
    }
    let (request, said) = match read_request(request).await {
        Ok(looked_at) => looked_at,
        Err(wrong) => return wrong.into_response(),
    };
    let note = new_note(&desk, &request, &said);
    let work = async { read_response(next.run(request).await).await };
    let noted = desk
        .engine
        .audited_command(note, work, |note, (_, told)| complete(note, told));
    match noted.await {
        Ok((response, _)) => response,
        Err(fault) => ApiError::from(fault).into_response(),
    }
}

fn is_audited(request: &Request) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    !reads && !UNAUDITED.contains(&request.uri().path())
}

/// The command of a request and its run, if it changes something: for the audit of requests that are not
/// admitted.
pub fn audited_command(request: &Request) -> Option<(String, Option<RunId>)> {
    is_audited(request).then(|| command(request))
}

/// A request with its parsed body, if that is short.
async fn read_request(request: Request) -> Result<(Request, Told), ApiError> {
    let length = axum::body::HttpBody::size_hint(request.body()).exact();
    if length.is_none_or(|length| length > INSPECTED_BYTES_MAX as u64) {
        return Ok((request, Told::Null));
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, INSPECTED_BYTES_MAX).await;
    let bytes = bytes.map_err(|error| ApiError::bad_request(error.to_string()))?;
    let said = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok((Request::from_parts(parts, Body::from(bytes)), said))
}

fn new_note(desk: &AppState, request: &Request, said: &Told) -> AuditNote {
    let text = |key: &str| said.get(key).and_then(Told::as_str);
    let extensions = request.extensions();
    let owner = extensions.get::<RunOwner>().cloned().unwrap_or_default();
    let speaker = RequestAuthor::of(extensions);
    let by = answers::respondent(&owner, text("by"), &speaker).name;
    let (command, run) = command(request);
    let mut note = AuditNote::new(command, by.as_str());
    note.channel = Some(HTTP_DOOR.to_owned());
    note.person = extensions.get::<Respondent>().is_some();
    note.run = run.map(|run| run.to_string());
    note.session = text("session_id").map(str::to_owned);
    note.why = text("why").map(str::to_owned);
    if !said.is_null() {
        note.arguments = Some(desk.engine.audit_value(&said.clone().into()));
    }
    note
}

/// The command of a request, and its run.
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

/// A response with its parsed body, if that is short.
async fn read_response(response: Response) -> (Response, Told) {
    let refused = !response.status().is_success();
    let (parts, body) = response.into_parts();
    let length = axum::body::HttpBody::size_hint(&body).exact();
    if length.is_none_or(|length| length > INSPECTED_BYTES_MAX as u64) {
        return (
            Response::from_parts(parts, body),
            outcome(refused, Told::Null),
        );
    }
    let Ok(bytes) = to_bytes(body, INSPECTED_BYTES_MAX).await else {
        return (Response::from_parts(parts, Body::empty()), Told::Null);
    };
    let told = serde_json::from_slice(&bytes).unwrap_or_default();
    let response = Response::from_parts(parts, Body::from(bytes));
    (response, outcome(refused, told))
}

/// The content of a reply, marked if it is an error.
fn outcome(refused: bool, told: Told) -> Told {
    serde_json::json!({ "refused": refused, "told": told })
}

fn complete(note: &mut AuditNote, outcome: &Told) {
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
