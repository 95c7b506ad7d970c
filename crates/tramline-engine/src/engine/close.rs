//! The end of an engine: drivers let go of their runs before anything below them is taken away.

use super::Engine;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What drivers have recorded is on the disk after so long, or the disk is stuck.
const SETTLE_MAX: Duration = Duration::from_secs(5);

impl Engine {
    /// Does something beside the runs, which is told when to stop and waited for at the end.
    pub(crate) fn beside<W>(&self, work: impl FnOnce(CancellationToken) -> W)
    where
        W: Future<Output = ()> + Send + 'static,
    {
        self.0.tasks.spawn(work(self.0.stop.clone()));
    }

    /// Whether it stops driving.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Stops driving. Runs under way are left as they are and go on when they are resumed.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Stops driving, and waits until every driver has let go and cancelled calls have told their
    /// servers: before these are ended, or their end would be taken for the calls' failure.
    pub async fn close(&self) {
        self.stop();
        self.0.tasks.close();
        let most = self.0.options.cancel_grace + SETTLE_MAX;
        let _ = tokio::time::timeout(most, self.0.tasks.wait()).await;
    }
}
