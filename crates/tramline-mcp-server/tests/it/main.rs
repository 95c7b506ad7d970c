//! The server, used by a real client with each handshake.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers are tests too"
)]

mod annotations;
mod approvals;
mod audit;
mod authority;
mod balancer;
mod control;
mod debugging;
mod forms;
mod http;
mod http2;
mod library;
mod logging;
mod loops;
mod reply_shapes;
mod resources;
mod runs;
mod sessions;
mod settings;
mod slow_clients;
mod sop;
mod stateless;
mod stopping;
mod support;
mod tasks;
mod toolsets;
mod url_elicitation;
