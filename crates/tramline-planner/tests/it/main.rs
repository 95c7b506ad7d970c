//! The planner over fakes: loops, memory, saved plans, the plan history.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail loudly"
)]

mod learning;
mod loops;
