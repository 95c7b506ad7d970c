//! Conversations in use, folded and in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_core::ids::RunId;
use tramline_core::navigate::Walk;

/// So many conversations are kept folded; beyond it those that rested longest are dropped.
const WALKS_MAX: usize = 4_096;

/// One conversation's place: one word is decided at a time.
pub(super) type Seat = tokio::sync::Mutex<Walk>;

/// What is kept in memory.
#[derive(Default)]
pub(in super::super) struct Hot {
    walks: Mutex<HashMap<RunId, Kept>>,
    uses: AtomicU64,
}

struct Kept {
    seat: Arc<Seat>,
    used: u64,
}

impl Hot {
    fn walks(&self) -> MutexGuard<'_, HashMap<RunId, Kept>> {
        self.walks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, id: &RunId) -> Option<Arc<Seat>> {
        let mut walks = self.walks();
        let kept = walks.get_mut(id)?;
        kept.used = self.uses.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(&kept.seat))
    }

    /// Keeps a conversation, unless somebody was quicker: then theirs is given.
    pub(super) fn keep(&self, walk: Walk) -> Arc<Seat> {
        let mut walks = self.walks();
        if walks.len() >= WALKS_MAX {
            // Whoever holds a seat keeps it; the half that rested longest is dropped.
            let mut used: Vec<u64> = walks.values().map(|kept| kept.used).collect();
            used.sort_unstable();
            let middle = used[used.len() / 2];
            walks.retain(|_, kept| kept.used >= middle || Arc::strong_count(&kept.seat) > 1);
        }
        let used = self.uses.fetch_add(1, Ordering::Relaxed);
        let id = walk.id.clone();
        let kept = walks.entry(id).or_insert_with(|| Kept {
            seat: Arc::new(Seat::new(walk)),
            used,
        });
        Arc::clone(&kept.seat)
    }
}
