//! People who answer for everyone: an approver and the operator's studio see every waiting run.

use crate::AppState;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tramline_engine::{Respondent, RunOwner};
use tramline_workflow::ids::{Checkpoint, RunId};

/// Lets a person read any run and answer its questions: such a request acts for the run's owner
/// instead of the person's own name. All other control of a run stays with its owner.
pub(crate) async fn act_for_owner(
    State(desk): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_person = request.extensions().get::<Respondent>().is_some();
    if is_person && let Some(run) = run_of_request(&request)
        // A missing run is reported by the handler.
        && let Ok(begun) = desk.owners.started(&desk.engine, &run).await
    {
        request.extensions_mut().insert::<RunOwner>(begun.owner);
    }
    next.run(request).await
}

/// The run that a request reads or answers.
fn run_of_request(request: &Request) -> Option<RunId> {
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
