//! `/live` and `/ready`: whether this process runs, and whether it can take requests.

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::time::Duration;
use tramline_engine::Engine;

/// How long the store may take to answer: balancers ask every few seconds.
const READY_MAX: Duration = Duration::from_secs(3);

/// The routes, which everybody may ask: they say nothing about runs.
pub fn health(engine: &Engine) -> Router {
    let engine = engine.clone();
    Router::new()
        .route("/live", get(|| async { "ok\n" }))
        .route("/ready", get(move || ready(engine.clone())))
}

async fn ready(engine: Engine) -> Response {
    let why = if engine.is_stopping() {
        "this process is stopping"
    } else {
        match tokio::time::timeout(READY_MAX, engine.store().check_ready()).await {
            Ok(Ok(())) => return "ok\n".into_response(),
            // The log of the process says why: addresses are not for everybody.
            Ok(Err(_)) => "the store cannot be used",
            Err(_) => "the store does not answer",
        }
    };
    (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response()
}
