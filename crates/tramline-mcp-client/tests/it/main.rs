//! The client against misbehaving and real servers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers are tests too"
)]

mod calls;
mod contract;
mod endless;
mod http_status;
mod lifecycle;
mod processes;
mod real;
mod support;
mod unruly;
