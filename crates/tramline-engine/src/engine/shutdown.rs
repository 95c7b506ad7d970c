//! Shutdown: drivers release their runs before anything they use is dropped.

use super::Engine;
use std::time::Duration;

/// Time for drivers to flush their journals at shutdown; after this the disk is considered stuck.
const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(5);

impl Engine {
    /// Whether the engine is stopping.
    pub fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// How many more runs this process may drive.
    pub(crate) fn drive_room(&self) -> usize {
        let driven = self.0.active_runs().len();
        self.0.options.driven_max.saturating_sub(driven)
    }

    /// Stops driving. Active runs stay as they are and continue when they are resumed.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Stops driving, and waits until every driver has released its run and cancelled calls have
    /// notified their servers. Call this before the servers are stopped; otherwise their exit would
    /// be recorded as a failure of the calls.
    pub async fn close(&self) {
        self.stop();
        self.0.tasks.close();
        let most = self.0.options.cancel_grace + SHUTDOWN_WAIT_MAX;
        let _ = tokio::time::timeout(most, self.0.tasks.wait()).await;
    }
}
