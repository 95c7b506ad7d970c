//! The client against servers that misbehave and that people use, and the server against clients.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the helpers of tests are tests too"
)]

mod calls;
mod contract;
mod endless;
mod lifecycle;
mod lost_answers;
mod processes;
mod real;
mod serving;
mod support;
mod unruly;
