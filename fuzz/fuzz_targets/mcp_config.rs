//! Any JSON as a description of servers: they come back with their variables filled in, or flaws.

#![no_main]

#[path = "../checks/mcp_config.rs"]
mod mcp_config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mcp_config::check(bytes));
