//! The client against misbehaving and real servers, and the server against clients.

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
mod lost_answers;
mod processes;
mod real;
mod serving;
mod support;
mod unruly;
