//! The studio and its HTTP API: documents, runs, questions, the debugger.
//!
//! A thin layer: each route parses the request, makes one engine or core call and renders the
//! reply. The crate may not know MCP, and it does not authenticate: the server checks token, host
//! and origin of each request, and passes in [`RunOwner`](tramline_engine::RunOwner) whose runs it may see and in [`Admission`]
//! whether it presented a token.

mod access;
mod answers;
mod approvals;
mod approver;
mod audit;
mod check;
mod csrf;
mod debugger;
mod documents;
mod eval;
mod events;
mod export;
mod extract;
mod health;
mod history;
mod metrics;
mod owner_cache;
mod page;
mod registry;
mod response;
mod runs;
mod server_info;
mod sop_session;
mod summary;
mod tools;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{get, post, put};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tramline_catalog::Catalog;
use tramline_engine::{EXPORT_BYTES_MAX, Engine};
use tramline_expr::{Str, Value};

pub use access::{FurtherAddress, PrintAddress, StudioAccess};
pub use audit::audited_command;
pub use documents::DocumentFiles;
pub use health::health;
pub use metrics::{MetricsRenderer, metrics};
pub use tramline_engine::{Admission, RunOwner};

/// The largest request, in bytes: a document of the largest size, escaped as JSON.
const BODY_BYTES_MAX: usize = 16 << 20;

/// What the studio is opened on.
#[derive(Clone, Default)]
pub struct Studio {
    /// The documents that may be read and changed.
    pub documents: Vec<PathBuf>,
    /// Reads and writes them.
    pub files: Option<Arc<dyn DocumentFiles>>,
    /// The servers that documents may use without declaring them.
    pub known_servers: Vec<Str>,
    /// The origin of runs of saved workflows.
    pub origin: Value,
    /// The toolsets that the same server offers over MCP.
    pub toolsets: Vec<String>,
}

/// The state shared by all routes.
#[derive(Clone)]
struct AppState {
    engine: Engine,
    catalog: Catalog,
    studio: Arc<Studio>,
    owners: Arc<owner_cache::OwnerCache>,
    summaries: Arc<summary::SummaryCache>,
    /// Serializes document writes.
    document_lock: Arc<Mutex<()>>,
}

/// The page, which contains no secrets and asks for a token if one is needed, and the exchange of a
/// one-time code for the studio's key.
pub fn studio(access: Arc<StudioAccess>) -> Router {
    let exchange = post(access::exchange).layer(DefaultBodyLimit::max(access::EXCHANGE_BYTES_MAX));
    Router::new()
        .route("/api/studio/key", exchange)
        .with_state(access)
        .route("/", get(|| async { Redirect::temporary("/studio") }))
        .route("/studio", get(page::index))
        .route("/studio/", get(page::index))
        .route("/studio/{*path}", get(page::file))
        .layer(from_fn(csrf::check_and_harden))
}

/// The API. The server must only let callers through who may see runs at all.
pub fn api(engine: &Engine, catalog: &Catalog, studio: Studio) -> Router {
    let desk = AppState {
        engine: engine.clone(),
        catalog: catalog.clone(),
        studio: Arc::new(studio),
        owners: Arc::default(),
        summaries: Arc::default(),
        document_lock: Arc::default(),
    };
    routes()
        .layer(from_fn_with_state(desk.clone(), audit::record_request))
        .layer(from_fn_with_state(desk.clone(), approver::act_for_owner))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(csrf::check_and_harden))
        .with_state(desk)
}

fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/about", get(server_info::about))
        .route("/api/openapi.json", get(server_info::openapi))
        .route("/api/tools", get(tools::list))
        .route("/api/tools/{name}/runs", post(tools::start))
        .route("/api/tools/{name}/graph", get(tools::graph))
        .route("/api/tools/{name}/versions", get(tools::versions))
        .route("/api/registry", get(registry::list))
        .route("/api/registry/{name}", get(registry::one))
        .route("/api/documents", get(documents::list))
        .route(
            "/api/documents/{id}",
            get(documents::one).put(documents::write),
        )
        .route("/api/check", post(check::check))
        .route("/api/edit", post(documents::apply_edits))
        .route("/api/eval", post(eval::eval))
        .route("/api/render", post(check::render))
        .route("/api/layout", post(check::lay_out))
        .route("/api/schemas/{format}", get(check::schema))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{run}", get(runs::one))
        .route("/api/runs/{run}/graph", get(runs::graph))
        .route("/api/runs/{run}/trace", get(runs::trace))
        .route("/api/runs/{run}/events", get(events::follow))
        .route("/api/runs/{run}/timeline", get(history::timeline))
        .route("/api/runs/{run}/at/{seq}", get(history::at))
        .route("/api/runs/{run}/steps/{step}", get(history::step))
        .route("/api/runs/{run}/abort", post(answers::abort))
        .route("/api/runs/{run}/pause", post(debugger::pause))
        .route("/api/runs/{run}/step", post(debugger::step))
        .route("/api/runs/{run}/continue", post(debugger::continue_run))
        .route("/api/runs/{run}/breakpoints", put(debugger::breakpoints))
        .route("/api/runs/{run}/fork", post(debugger::fork))
        .route("/api/runs/{run}/walk", get(sop_session::sop_history))
        .route("/api/runs/{run}/amendments", get(sop_session::amendments))
        .route("/api/runs/{run}/export", get(export::export))
        .route(
            "/api/runs/import",
            post(export::import).layer(DefaultBodyLimit::max(EXPORT_BYTES_MAX)),
        )
        .route("/api/compare", get(history::compare))
        .route("/api/approvals", get(approvals::list))
        .route(
            "/api/approvals/{checkpoint}",
            get(approvals::one).post(answers::answer),
        )
}
