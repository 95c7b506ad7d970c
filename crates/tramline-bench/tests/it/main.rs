//! The gate over recorded conversations, in numbers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail loudly, and says so where it was not run"
)]

mod replay;
