//! The deferred sync of jobs that were answered before it.

use super::super::documents;
use super::{GroupCommit, LockWait, begin_transaction, commit_or_roll_back};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The longest time between the answer to a job and its deferred sync.
const DEFERRED_SYNC_MAX: Duration = Duration::from_millis(50);

impl GroupCommit {
    /// Schedules one sync for all jobs answered until then.
    pub(super) fn schedule_sync(self: &Arc<Self>) {
        if !self.sync_pending.load(Ordering::Acquire)
            || self.sync_scheduled.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let pen = Arc::downgrade(self);
        tokio::task::spawn_blocking(move || {
            thread::sleep(DEFERRED_SYNC_MAX);
            if let Some(pen) = pen.upgrade() {
                // Before the sync: jobs that arrive during it need another one.
                pen.sync_scheduled.store(false, Ordering::Release);
                pen.sync_pending_jobs();
            }
        });
    }

    /// Syncs what is not synced yet. If the disk fails, the next append reports it.
    pub(super) fn sync_pending_jobs(&self) {
        if !self.sync_pending.load(Ordering::Acquire) {
            return;
        }
        let _ = self.connections.write(|conn| {
            self.set_sync(conn, true)?;
            begin_transaction(conn, LockWait::Yes)?;
            // A commit without changes is not synced.
            commit_or_roll_back(conn, documents::put(conn, "writer", "synced", &[]))?;
            self.sync_pending.store(false, Ordering::Release);
            Ok(())
        });
    }
}
