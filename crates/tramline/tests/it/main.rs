//! The product as its users run it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod bounds;
mod children;
mod cli;
mod clients;
mod command_line;
mod conformance;
mod control;
mod convert;
mod debugging;
mod detached;
mod downstream;
mod editors;
mod examples;
mod forms;
mod fuzz_seeds;
mod gallery;
mod golden;
mod http_auth;
mod intents;
mod kill_smoke;
mod killed;
mod language_server;
mod library;
mod loops;
mod lost_answers;
mod markdown;
mod matrix;
mod mcp_clients;
mod operations;
mod processes;
mod protected;
mod quickstart;
mod reference;
mod replicas;
mod saved;
mod serving;
mod settings;
mod several_servers;
mod shutdown;
mod skills;
mod sop;
mod stored;
mod studio;
mod support;
mod telemetry;
mod terminal;
mod test_servers;
mod tokens;
mod tool_lock;
mod trusted;
mod tutorials;
mod unruly;
