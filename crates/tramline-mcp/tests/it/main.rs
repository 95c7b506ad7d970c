//! The client against servers that misbehave and against servers that people use.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the helpers of tests are tests too"
)]

mod calls;
mod contract;
mod lifecycle;
mod processes;
mod real;
mod support;
mod unruly;
