//! The only crate that knows MCP: downstream servers as tools, and Tramline as a server.

pub mod client;
pub mod config;
pub mod server;
