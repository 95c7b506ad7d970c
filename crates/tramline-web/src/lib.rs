//! The studio and the HTTP API behind it: documents, runs, questions, the debugger.
//!
//! Thin: each route reads, makes one engine or core call and tells. It may not know MCP, and it
//! does not decide who is let in: whoever serves it looks at token, host and origin of each request,
//! and says by [`Owner`] whose runs it may see and by [`Admission`] whether it showed a token.

mod about;
mod access;
mod answers;
mod approvals;
mod approver;
mod asked;
mod audited;
mod check;
mod documents;
mod eval;
mod events;
mod guard;
mod guided;
mod metrics;
mod owners;
mod page;
mod past;
mod port;
mod registry;
mod runs;
mod steer;
mod told;
mod tools;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post, put};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tramline_core::{Str, Value};
use tramline_engine::{Engine, PORT_BYTES_MAX};

pub use access::{FurtherAddress, PrintAddress, StudioAccess};
pub use documents::Files;
pub use metrics::{Written, metrics};
pub use tramline_engine::{Admission, Owner};

/// Larger requests are refused, in bytes: a document of the largest size, escaped as JSON.
const BODY_BYTES_MAX: usize = 16 << 20;

/// What the studio is opened on.
#[derive(Clone, Default)]
pub struct Studio {
    /// The documents that may be read and changed.
    pub documents: Vec<PathBuf>,
    /// Who reads and writes them.
    pub files: Option<Arc<dyn Files>>,
    /// The servers that documents may use without naming them.
    pub elsewhere: Vec<Str>,
    /// Where runs of saved workflows are to be found again.
    pub origin: Value,
    /// What is offered over MCP beside it.
    pub toolsets: Vec<String>,
}

/// What every route works with.
#[derive(Clone)]
struct Desk {
    engine: Engine,
    studio: Arc<Studio>,
    owners: Arc<owners::Owners>,
    /// One document is written at a time.
    turn: Arc<Mutex<()>>,
}

/// The page, which holds nothing secret and asks for a token itself where one is needed, and the exchange
/// of a one-time code for the studio's key.
pub fn studio(access: Arc<StudioAccess>) -> Router {
    let exchange = post(access::exchange).layer(DefaultBodyLimit::max(access::EXCHANGE_BYTES_MAX));
    Router::new()
        .route("/api/studio/key", exchange)
        .with_state(access)
        .route("/studio", get(page::index))
        .route("/studio/", get(page::index))
        .route("/studio/{*path}", get(page::file))
        .layer(from_fn(guard::harden))
}

/// The API. Whoever serves it lets only those through who may see runs at all.
pub fn api(engine: &Engine, studio: Studio) -> Router {
    let desk = Desk {
        engine: engine.clone(),
        studio: Arc::new(studio),
        owners: Arc::default(),
        turn: Arc::default(),
    };
    routes()
        .layer(from_fn_with_state(desk.clone(), audited::noting))
        .layer(from_fn_with_state(desk.clone(), approver::sees_all))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(guard::harden))
        .with_state(desk)
}

fn routes() -> Router<Desk> {
    Router::new()
        .route("/api/about", get(about::about))
        .route("/api/openapi.json", get(about::openapi))
        .route("/api/tools", get(tools::list))
        .route("/api/tools/{name}/runs", post(tools::start))
        .route("/api/registry", get(registry::list))
        .route("/api/registry/{name}", get(registry::one))
        .route("/api/documents", get(documents::list))
        .route(
            "/api/documents/{id}",
            get(documents::one).put(documents::write),
        )
        .route("/api/check", post(check::check))
        .route("/api/edit", post(documents::edited))
        .route("/api/eval", post(eval::eval))
        .route("/api/render", post(check::render))
        .route("/api/schemas/{format}", get(check::schema))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{run}", get(runs::one))
        .route("/api/runs/{run}/graph", get(runs::graph))
        .route("/api/runs/{run}/trace", get(runs::trace))
        .route("/api/runs/{run}/events", get(events::follow))
        .route("/api/runs/{run}/timeline", get(past::timeline))
        .route("/api/runs/{run}/at/{seq}", get(past::at))
        .route("/api/runs/{run}/steps/{step}", get(past::step))
        .route("/api/runs/{run}/abort", post(answers::abort))
        .route("/api/runs/{run}/pause", post(steer::pause))
        .route("/api/runs/{run}/step", post(steer::step))
        .route("/api/runs/{run}/continue", post(steer::proceed))
        .route("/api/runs/{run}/breakpoints", put(steer::breakpoints))
        .route("/api/runs/{run}/fork", post(steer::fork))
        .route("/api/runs/{run}/walk", get(guided::walk))
        .route("/api/runs/{run}/amendments", get(guided::amendments))
        .route("/api/runs/{run}/export", get(port::export))
        .route(
            "/api/runs/import",
            post(port::import).layer(DefaultBodyLimit::max(PORT_BYTES_MAX)),
        )
        .route("/api/compare", get(past::compare))
        .route("/api/approvals", get(approvals::list))
        .route(
            "/api/approvals/{checkpoint}",
            get(approvals::one).post(answers::answer),
        )
}
