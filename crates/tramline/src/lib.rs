//! Tramline puts AI agents on tracks: graphs of MCP tools that run, pause, survive a crash and can
//! be inspected afterwards, offered to any agent as ordinary MCP tools.
//!
//! This crate wires the other crates together and contains no rules itself. Programs start with
//! [`Tramline`]:
//!
//! ```
//! use serde_json::json;
//! use tramline::{Config, Error, Tramline};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let tramline = Tramline::open(Config::in_memory())?;
//! tramline.load_str(
//!     r#"
//! version: "1.0"
//! server: { name: sums, version: "1.0.0" }
//! tools:
//!   - name: add
//!     description: Adds two numbers.
//!     inputSchema: { type: object }
//!     nodes:
//!       - { id: entry, type: entry, next: sum }
//!       - { id: sum, type: transform, transform: { expr: entry.a + entry.b }, next: exit }
//!       - { id: exit, type: exit }
//! "#,
//! )?;
//! let sum = tramline.run("add", json!({ "a": 2, "b": 3 })).await?.result()?;
//! assert_eq!(sum, 5);
//! # Ok(())
//! # }
//! ```
//!
//! Input and output are plain data: `serde_json` values, numbers, text. Progress arrives through
//! hooks ([`RunRequest`]) or event by event ([`RunEvents`]). Through a [`Run`] you wait for a run, answer
//! it, halt it, step through it, fork it and read it. All types are `Send`. `docs/library.md` is
//! the guide, with an example for each use in `examples/`.

mod api;
#[doc(hidden)]
pub mod app;
#[doc(hidden)]
#[cfg(feature = "cli")]
pub mod cli;
#[doc(hidden)]
pub mod config;
#[cfg(feature = "cli")]
mod document_files;
#[doc(hidden)]
pub mod linked_documents;
mod protected_paths;
#[doc(hidden)]
pub mod trust;

// The API. `cargo xtask tidy` counts it: what is hidden below may change in any release.
pub use api::{
    Answer, Document, Error, Event, Failure, Fork, HttpServer, LoopRequest, LoopResponse,
    LoopRunner, LoopStatus, OnFailure, OutcomeKind, Question, ReplayResult, Run, RunEvents,
    RunOutcome, RunRequest, StartRequest, Step, Tool, ToolInfo, Trace, Tramline,
};
/// For programs that bring a planner of their own; not stable yet.
#[doc(hidden)]
pub use api::{PlanMaker, PlannerPrompt, PlanningTask};
pub use config::Config;
pub use schemars;
pub use tramline_builtin::HostPattern;
pub use tramline_engine::ports::{Model, RunFilter, RunPage, RunRow, RunStatus};
pub use tramline_telemetry::TelemetrySettings;
pub use tramline_views::compare::Comparison;
pub use tramline_workflow::flaw::{Flaw, Severity};
pub use tramline_workflow::ids::{Checkpoint, RunId};
pub use tramline_workflow::journal::Budget;

#[doc(hidden)]
pub use api::CallerContext;
#[doc(hidden)]
pub use tramline_builtin as builtin;
#[doc(hidden)]
pub use tramline_catalog as catalog;
#[doc(hidden)]
pub use tramline_engine as engine;
#[doc(hidden)]
pub use tramline_expr as expr;
#[doc(hidden)]
pub use tramline_formats as formats;
#[doc(hidden)]
pub use tramline_mcp_client as mcp_client;
#[doc(hidden)]
pub use tramline_mcp_server as mcp_server;
#[doc(hidden)]
pub use tramline_planner as planner;
#[doc(hidden)]
pub use tramline_sop as sop;
#[doc(hidden)]
pub use tramline_store as store;
#[doc(hidden)]
pub use tramline_syntax as syntax;
#[doc(hidden)]
pub use tramline_telemetry as telemetry;
#[doc(hidden)]
pub use tramline_views as views;
#[doc(hidden)]
pub use tramline_workflow as workflow;
