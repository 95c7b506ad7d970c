//! The sync that is owed to work which was answered before it.

use super::super::documents;
use super::{Patience, Pen, begin, ended};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// What was answered before it was synced is synced after so long.
const SYNC_WITHIN: Duration = Duration::from_millis(50);

impl Pen {
    /// Has what is not synced yet synced in a moment, once for all that comes until then.
    pub(super) fn pay_soon(self: &Arc<Self>) {
        if !self.owed.load(Ordering::Acquire) || self.pays.swap(true, Ordering::AcqRel) {
            return;
        }
        let pen = Arc::downgrade(self);
        tokio::task::spawn_blocking(move || {
            thread::sleep(SYNC_WITHIN);
            if let Some(pen) = pen.upgrade() {
                // Before the sync: what comes while it lasts is owed anew.
                pen.pays.store(false, Ordering::Release);
                pen.pay();
            }
        });
    }

    /// Syncs what is not synced yet. Where the disk fails, the next append says so.
    pub(super) fn pay(&self) {
        if !self.owed.load(Ordering::Acquire) {
            return;
        }
        let _ = self.desks.write(|conn| {
            self.set_sync(conn, true)?;
            begin(conn, Patience::Yes)?;
            // A commit that changes nothing is not synced.
            ended(conn, documents::put(conn, "writer", "synced", &[]))?;
            self.owed.store(false, Ordering::Release);
            Ok(())
        });
    }
}
