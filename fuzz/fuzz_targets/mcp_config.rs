//! Arbitrary JSON as a server configuration: parsed with its variables expanded, or rejected with
//! flaws.

#![no_main]

#[path = "../checks/mcp_config.rs"]
mod mcp_config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mcp_config::check(bytes));
