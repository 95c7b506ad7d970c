//! The gate over recorded SOP sessions, in numbers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and prints when it is skipped"
)]

mod near_miss_set;
mod replay;
