//! `Workflows`: the workflows that runs can call by name.

use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::{Str, Value};

/// Finds workflows by name, without waiting for anything.
pub trait Workflows: Send + Sync + 'static {
    /// The workflow of that name as it is now.
    fn find(&self, name: &str) -> Option<Callable>;

    /// The names of all, for suggestions.
    fn names(&self) -> Vec<Str>;
}

/// A workflow that a run can call.
#[derive(Clone, Debug)]
pub struct Callable {
    /// What to run.
    pub graph: Arc<Graph>,
    /// Where its document and its servers are to be found again.
    pub origin: Value,
}
