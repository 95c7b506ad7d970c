//! Makes workflows happen: drives runs by asking the core what comes next and doing it.
//!
//! Async, and free of vendors: what stores, calls and completes stands behind three [`seams`].

pub mod seams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
