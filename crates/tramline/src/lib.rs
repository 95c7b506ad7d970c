//! Tramline puts AI agents on tracks: graphs of MCP tools that run, pause, survive a crash and
//! can be read afterwards, offered to any agent as ordinary MCP tools.
//!
//! This crate wires the others together and holds no rules of its own. Programs begin with
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
//! What goes in and comes out is plain data: `serde_json` values, numbers, text. What happens is
//! told by hooks ([`Request`]) or event by event ([`Follow`]); a [`Run`] is waited for, answered,
//! halted, stepped, forked and read. All of it is `Send`. `docs/library.md` walks through it, with
//! an example for each use in `examples/`.

pub mod cli;
pub mod companions;
pub mod config;
mod disk;
pub mod library;
mod protect;
pub mod trust;
pub mod wire;

pub use config::Config;
pub use library::{
    Answer, Document, Ended, Error, Event, Failure, Follow, Fork, How, LoopRequest, LoopResponse,
    LoopRunner, Question, Replayed, Request, Run, Serving, Start, Step, Tool, ToolInfo, Trace,
    Tramline,
};
pub use tramline_core::compare::Comparison;
pub use tramline_core::flaw::{Flaw, Severity};
pub use tramline_core::ids::{Checkpoint, RunId};
pub use tramline_engine::seams::{Page, RunFilter, RunRow, Status};

pub use schemars;
pub use tramline_builtin as builtin;
pub use tramline_core as core;
pub use tramline_engine as engine;
pub use tramline_mcp as mcp;
pub use tramline_store as store;
pub use tramline_telemetry as telemetry;
