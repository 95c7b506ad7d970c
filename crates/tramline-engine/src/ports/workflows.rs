//! `Workflows`: the workflows that runs can call by name.

use async_trait::async_trait;
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;

/// Finds workflows by name.
#[async_trait]
pub trait Workflows: Send + Sync + 'static {
    /// The current workflow of that name, without waiting.
    fn find(&self, name: &str) -> Option<Callable>;

    /// All names, for suggestions.
    fn names(&self) -> Vec<Str>;

    /// Loads what other processes have changed about a name. If that fails, what is known stays.
    async fn refresh(&self, name: &str) {
        let _ = name;
    }
}

/// A workflow that a run can call.
#[derive(Clone, Debug)]
pub struct Callable {
    /// The graph to run.
    pub graph: Arc<Graph>,
    /// Where its document and its servers can be found again.
    pub origin: Value,
}
