//! Tramline puts AI agents on tracks: graphs of MCP tools that run, pause, survive a crash and
//! can be read afterwards, offered to any agent as ordinary MCP tools.
//!
//! This crate wires the others together and holds no rules of its own.

pub mod cli;
pub mod config;
pub mod wire;

pub use tramline_builtin as builtin;
pub use tramline_core as core;
pub use tramline_engine as engine;
pub use tramline_mcp as mcp;
pub use tramline_store as store;
