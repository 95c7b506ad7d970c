//! The studio and the HTTP API behind it: runs to look at, questions to answer.
//!
//! Thin: each route reads, makes one engine call and tells. It may not know MCP, and it does not
//! decide who is let in: whoever serves it says by [`Owner`] whose runs a request may see.

mod answers;
mod approvals;
mod events;
mod guard;
mod metrics;
mod page;
mod runs;
mod told;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use std::sync::Arc;
use tramline_engine::Engine;
use tramline_engine::audit::Notebook;

pub use metrics::{Written, metrics};
pub use tramline_engine::Owner;

/// What every route works with.
#[derive(Clone)]
struct Desk {
    engine: Engine,
    notebook: Arc<Notebook>,
}

/// The page, which holds nothing secret and asks for a token itself where one is needed.
pub fn studio() -> Router {
    Router::new()
        .route("/studio", get(page::index))
        .route("/studio/", get(page::index))
        .route("/studio/studio.js", get(page::script))
        .route("/studio/studio.css", get(page::style))
        .layer(from_fn(guard::same_place))
}

/// The API. Whoever serves it lets only those through who may see runs at all.
pub fn api(engine: &Engine) -> Router {
    let desk = Desk {
        engine: engine.clone(),
        notebook: Arc::new(engine.notebook()),
    };
    Router::new()
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{run}", get(runs::one))
        .route("/api/runs/{run}/trace", get(runs::trace))
        .route("/api/runs/{run}/events", get(events::follow))
        .route("/api/runs/{run}/abort", post(answers::abort))
        .route("/api/approvals", get(approvals::list))
        .route("/api/approvals/{checkpoint}", post(answers::answer))
        .layer(from_fn(guard::same_place))
        .with_state(desk)
}
