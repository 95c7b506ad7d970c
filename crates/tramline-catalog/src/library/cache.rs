//! The in-memory cache of saved workflows.

use super::saved_workflow::{CachedWorkflow, SavedWorkflow};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_expr::Str;

/// The cached workflows.
#[derive(Debug, Default)]
pub(super) struct WorkflowCache {
    saved: BTreeMap<Str, Arc<CachedWorkflow>>,
    /// The stamp under which they were read; `None` if the library was never changed.
    stamp: Option<Vec<u8>>,
    read: Option<Instant>,
    generation: u64,
}

impl WorkflowCache {
    /// Whether everything was read under this stamp and recently enough.
    pub(super) fn is_fresh(&self, stamp: Option<&[u8]>, age_max: Duration) -> bool {
        let young = self.read.is_some_and(|read| read.elapsed() < age_max);
        young && self.stamp.as_deref() == stamp
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<CachedWorkflow>> {
        self.saved.values()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<CachedWorkflow>> {
        self.saved.get(name)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Adds a workflow, unless the same one is already cached.
    pub(super) fn put(&mut self, saved: SavedWorkflow) -> Arc<SavedWorkflow> {
        if let Some(kept) = self.saved.get(&saved.name)
            && *kept.saved == saved
        {
            return Arc::clone(&kept.saved);
        }
        self.generation += 1;
        let kept = Arc::new(CachedWorkflow::new(saved));
        let saved = Arc::clone(&kept.saved);
        self.saved.insert(saved.name.clone(), kept);
        saved
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.generation += 1;
        self.saved.remove(name);
    }

    /// Replaces all workflows. Unchanged ones stay compiled.
    pub(super) fn replace(
        &mut self,
        found: Vec<SavedWorkflow>,
        stamp: Option<Vec<u8>>,
        began: Instant,
    ) {
        let mut before = std::mem::take(&mut self.saved);
        let mut changed = false;
        for saved in found {
            let name = saved.name.clone();
            let kept = before.remove(&name).filter(|kept| *kept.saved == saved);
            let kept = kept.unwrap_or_else(|| {
                changed = true;
                Arc::new(CachedWorkflow::new(saved))
            });
            self.saved.insert(name, kept);
        }
        self.generation += u64::from(changed || !before.is_empty());
        self.stamp = stamp;
        self.read = Some(began);
    }
}
