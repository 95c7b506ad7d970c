//! An in-memory map of workflows: those of the loaded documents.

use crate::ports::{Callable, Workflows};
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use tramline_expr::Str;

/// Workflows by name. All of them can be replaced at once while runs continue.
#[derive(Default)]
pub struct WorkflowMap(RwLock<BTreeMap<Str, Callable>>);

impl WorkflowMap {
    /// A map of these workflows; of two with the same name the first counts.
    pub fn new(all: impl IntoIterator<Item = Callable>) -> Self {
        let shelf = Self::default();
        shelf.replace(all);
        shelf
    }

    /// Replaces all workflows.
    pub fn replace(&self, all: impl IntoIterator<Item = Callable>) {
        let mut named = BTreeMap::new();
        for one in all {
            named.entry(one.graph.workflow.name.clone()).or_insert(one);
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = named;
    }
}

impl Workflows for WorkflowMap {
    fn find(&self, name: &str) -> Option<Callable> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        named.get(name).cloned()
    }

    fn names(&self) -> Vec<Str> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        named.keys().cloned().collect()
    }
}
