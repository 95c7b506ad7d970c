//! Runs that paused in this process and were answered in another go on here, where the servers they
//! have worked with are still alive.

use super::Engine;
use crate::fault::Fault;
use crate::seams::{RunFilter, Status};
use std::time::Duration;

/// How often at most the store is asked: answers come from people, this is soon.
const PAUSE_BETWEEN: Duration = Duration::from_millis(100);

/// So many runs that should go on are looked at; the rest when these are under way.
const RUNS_MAX: usize = 256;

impl Engine {
    /// Goes on with runs that paused here, as soon as somebody elsewhere has answered them. For
    /// processes that stay; it never ends by itself.
    pub async fn pick_up_answered(&self) {
        // From here on others know that this process lives, and wait for it to go on with a run.
        let _ = self.0.store.is_shared().await;
        let mut changes = self.0.store.changes();
        // Something may have come before the first look.
        changes.mark_changed();
        while changes.changed().await.is_ok() {
            if !self.0.warm.is_empty() {
                // A store that fails says so to whoever runs something.
                let _ = self.pick_up().await;
            }
            tokio::time::sleep(PAUSE_BETWEEN).await;
        }
    }

    async fn pick_up(&self) -> Result<(), Fault> {
        let filter = RunFilter {
            status: vec![Status::Running],
            most: RUNS_MAX,
            ..RunFilter::default()
        };
        for row in self.0.store.runs(filter).await?.rows {
            if !row.driven && self.0.warm.holds(&row.run) {
                // Whoever is quicker drives it: the one who answered, or another server.
                let _ = self.resume(&row.run).await;
            }
        }
        Ok(())
    }
}
