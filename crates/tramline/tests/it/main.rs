//! The product as its users meet it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod cli;
mod examples;
mod support;
