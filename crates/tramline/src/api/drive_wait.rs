//! Waiting for a driver in this process; any number of callers can wait, repeatedly.

use std::sync::Arc;
use tokio::sync::watch;
use tramline_engine::{DriveOutcome, Fault, RunHandle};

type DriveResultSlot = Option<Result<DriveOutcome, Arc<Fault>>>;

/// A run that this process drives.
#[derive(Clone)]
pub(super) struct DriveWaiter(watch::Receiver<DriveResultSlot>);

impl DriveWaiter {
    pub(super) fn new(handle: RunHandle) -> Self {
        let (told, hears) = watch::channel(None);
        tokio::spawn(async move {
            let ended = handle.wait().await;
            told.send_replace(Some(ended.map_err(Arc::new)));
        });
        Self(hears)
    }

    /// How the drive ended. Cancel-safe: a caller that stops waiting can wait again.
    pub(super) async fn wait(mut self) -> Result<DriveOutcome, Arc<Fault>> {
        match self.0.wait_for(Option::is_some).await {
            Ok(ending) => ending.clone().unwrap_or(Ok(DriveOutcome::Stopped)),
            // The runtime was shut down.
            Err(_) => Ok(DriveOutcome::Stopped),
        }
    }
}
