//! SOP sessions in use, folded and in memory.

use super::calls_in_flight::CallsInFlight;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_sop::SopSession;
use tramline_workflow::ids::RunId;

/// Sessions that are kept folded in memory; beyond this the least recently used half is dropped.
const SESSIONS_CACHED_MAX: usize = 4_096;

/// One session: the mutex admits one command at a time.
pub(super) type SharedSession = tokio::sync::Mutex<SopSession>;

/// The sessions in memory.
#[derive(Default)]
pub(in super::super) struct SessionCache {
    sessions: Mutex<HashMap<RunId, SessionEntry>>,
    uses: AtomicU64,
    /// The calls of sessions that this process is making.
    pub(in super::super) in_flight: CallsInFlight,
}

struct SessionEntry {
    session: Arc<SharedSession>,
    last_used: u64,
}

impl SessionCache {
    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<RunId, SessionEntry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, id: &RunId) -> Option<Arc<SharedSession>> {
        let mut walks = self.lock_sessions();
        let kept = walks.get_mut(id)?;
        kept.last_used = self.uses.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(&kept.session))
    }

    /// Stores a session, or returns the one that is already there.
    pub(super) fn insert(&self, walk: SopSession) -> Arc<SharedSession> {
        let mut walks = self.lock_sessions();
        if walks.len() >= SESSIONS_CACHED_MAX {
            // A session in use survives through its `Arc`; the least recently used half is dropped.
            let mut used: Vec<u64> = walks.values().map(|kept| kept.last_used).collect();
            used.sort_unstable();
            let middle = used[used.len() / 2];
            walks
                .retain(|_, kept| kept.last_used >= middle || Arc::strong_count(&kept.session) > 1);
        }
        let used = self.uses.fetch_add(1, Ordering::Relaxed);
        let id = walk.id.clone();
        let kept = walks.entry(id).or_insert_with(|| SessionEntry {
            session: Arc::new(SharedSession::new(walk)),
            last_used: used,
        });
        Arc::clone(&kept.session)
    }
}
