//! The product as its users meet it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod children;
mod cli;
mod clients;
mod convert;
mod examples;
mod kill_smoke;
mod processes;
mod support;
mod unruly;
