//! People who answer for everybody: an approver and the operator's studio see every run that waits.

use crate::Desk;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_engine::{Owner, Respondent};

/// Lets a person read any run and answer its questions: what such a request is about belongs to the
/// run's owner, who is put in the place of the person's own name. Everything else that steers a run
/// stays its owner's.
pub(crate) async fn sees_all(
    State(desk): State<Desk>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_person = request.extensions().get::<Respondent>().is_some();
    if is_person && let Some(run) = about(&request)
        // A run that is not there is told by whoever looks for it next.
        && let Ok(begun) = desk.owners.begun(&desk.engine, &run).await
    {
        request.extensions_mut().insert::<Owner>(begun.owner);
    }
    next.run(request).await
}

/// The run that a request reads or answers.
fn about(request: &Request) -> Option<RunId> {
    let mut parts = request.uri().path().split('/').skip(1);
    match (
        request.method(),
        parts.next()?,
        parts.next()?,
        parts.next()?,
    ) {
        (&Method::GET, "api", "runs", run) => run.parse().ok(),
        (&Method::POST, "api", "approvals", point) => {
            point.parse::<Checkpoint>().ok().map(|point| point.run)
        }
        _ => None,
    }
}
