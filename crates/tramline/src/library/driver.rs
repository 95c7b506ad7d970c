//! Waiting for a driver of this process, by as many as want to and as often as they want.

use std::sync::Arc;
use tokio::sync::watch;
use tramline_engine::{Ended, Fault, Handle};

type Ending = Option<Result<Ended, Arc<Fault>>>;

/// A run that is driven here.
#[derive(Clone)]
pub(super) struct Driver(watch::Receiver<Ending>);

impl Driver {
    pub(super) fn new(handle: Handle) -> Self {
        let (told, hears) = watch::channel(None);
        tokio::spawn(async move {
            let ended = handle.ended().await;
            told.send_replace(Some(ended.map_err(Arc::new)));
        });
        Self(hears)
    }

    /// How the drive ended. Whoever stops waiting can wait again.
    pub(super) async fn ended(mut self) -> Result<Ended, Arc<Fault>> {
        match self.0.wait_for(Option::is_some).await {
            Ok(ending) => ending.clone().unwrap_or(Ok(Ended::Stopped)),
            // The runtime went away under us.
            Err(_) => Ok(Ended::Stopped),
        }
    }
}
