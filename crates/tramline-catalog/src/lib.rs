//! Knows everything that can be called: the tools of all servers, saved workflows, and how to find them.
//!
//! It may not start a run: a trial of a tool is a graph that the caller runs.

mod catalog;
pub mod library;
pub mod registry;
pub mod search;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod usage_stats;

pub use catalog::Catalog;
