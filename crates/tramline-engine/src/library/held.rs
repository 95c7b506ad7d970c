//! The saved workflows as this process last saw them.

use super::saved::{Kept, Saved};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_core::Str;

/// What is held in memory.
#[derive(Debug, Default)]
pub(super) struct Held {
    saved: BTreeMap<Str, Arc<Kept>>,
    /// The stamp that it was read under; nothing for a library that was never changed.
    stamp: Option<Vec<u8>>,
    read: Option<Instant>,
    generation: u64,
}

impl Held {
    /// Whether all of it was read under this stamp, not too long ago.
    pub(super) fn fresh(&self, stamp: Option<&[u8]>, age_max: Duration) -> bool {
        let young = self.read.is_some_and(|read| read.elapsed() < age_max);
        young && self.stamp.as_deref() == stamp
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Kept>> {
        self.saved.values()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<Kept>> {
        self.saved.get(name)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Takes one in, unless a later one is here already.
    pub(super) fn put(&mut self, saved: Saved) -> Arc<Saved> {
        if let Some(kept) = self.saved.get(&saved.name)
            && *kept.saved == saved
        {
            return Arc::clone(&kept.saved);
        }
        self.generation += 1;
        let kept = Arc::new(Kept::new(saved));
        let saved = Arc::clone(&kept.saved);
        self.saved.insert(saved.name.clone(), kept);
        saved
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.generation += 1;
        self.saved.remove(name);
    }

    /// Takes these in the place of all others. What is the same stays compiled.
    pub(super) fn replace(&mut self, found: Vec<Saved>, stamp: Option<Vec<u8>>, began: Instant) {
        let mut before = std::mem::take(&mut self.saved);
        let mut changed = false;
        for saved in found {
            let name = saved.name.clone();
            let kept = before.remove(&name).filter(|kept| *kept.saved == saved);
            let kept = kept.unwrap_or_else(|| {
                changed = true;
                Arc::new(Kept::new(saved))
            });
            self.saved.insert(name, kept);
        }
        self.generation += u64::from(changed || !before.is_empty());
        self.stamp = stamp;
        self.read = Some(began);
    }
}
