//! The only crate that speaks MCP: a client for downstream servers, and Tramline as a server.

pub mod client;
pub mod config;
pub mod server;
