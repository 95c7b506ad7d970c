//! A shelf of workflows in memory: those of the documents at hand.

use crate::seams::{Callable, Workflows};
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use tramline_core::Str;

/// Workflows by name. All of them can be exchanged at once while runs go on.
#[derive(Default)]
pub struct Shelf(RwLock<BTreeMap<Str, Callable>>);

impl Shelf {
    /// A shelf with these on it; of two with one name the first counts.
    pub fn new(all: impl IntoIterator<Item = Callable>) -> Self {
        let shelf = Self::default();
        shelf.replace(all);
        shelf
    }

    /// Puts these in the place of what was there.
    pub fn replace(&self, all: impl IntoIterator<Item = Callable>) {
        let mut named = BTreeMap::new();
        for one in all {
            named.entry(one.graph.workflow.name.clone()).or_insert(one);
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = named;
    }
}

impl Workflows for Shelf {
    fn find(&self, name: &str) -> Option<Callable> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        named.get(name).cloned()
    }

    fn names(&self) -> Vec<Str> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        named.keys().cloned().collect()
    }
}
