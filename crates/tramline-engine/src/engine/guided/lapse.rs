//! Conversations end when their agent does not come back in the time they were given.

use super::super::Engine;
use crate::fault::Fault;
use crate::ledger::ended;
use crate::seams::AppendError;
use tramline_core::ids::RunId;
use tramline_core::journal::{EXPIRY, Event, Outcome};
use tramline_core::navigate::Walk;

/// Whether a conversation's time is over.
pub(super) fn is_due(walk: &Walk, now_ms: i64) -> bool {
    walk.outcome.is_none() && walk.expires_ms().is_some_and(|due| due <= now_ms)
}

/// Why nothing more can be said in a conversation.
pub(super) fn over(walk: &Walk, outcome: &Outcome) -> Fault {
    let run = walk.id.clone();
    match outcome.is_expired() {
        true => Fault::Expired { run },
        false => Fault::Over {
            run,
            status: ended(outcome).as_str(),
        },
    }
}

impl Engine {
    /// Ends a conversation if its time is over and nobody used it meanwhile. Whether it ended.
    pub(in super::super) async fn lapse_guided(
        &self,
        id: &RunId,
        now_ms: i64,
    ) -> Result<bool, Fault> {
        let seat = self.0.walking(id).await?;
        let mut walk = seat.lock().await;
        self.lapse_walk(&mut walk, now_ms).await
    }

    pub(super) async fn lapse_walk(&self, walk: &mut Walk, now_ms: i64) -> Result<bool, Fault> {
        // Another process may have moved it.
        self.0.catch_up(walk).await?;
        if !is_due(walk, now_ms) {
            return Ok(false);
        }
        let asked: Vec<RunId> = walk.asked().map(|(_, run)| run.clone()).collect();
        self.withdraw(&asked).await?;
        let outcome = Outcome::Aborted {
            by: EXPIRY.into(),
            why: Some("nobody came back to it in the time it was given".to_owned()),
        };
        match self.0.record(walk, &[Event::Finished { outcome }]).await {
            Ok(()) => Ok(true),
            // Somebody came back in this moment.
            Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {
                self.0.catch_up(walk).await?;
                Ok(false)
            }
            Err(AppendError::Store(fault)) => Err(fault.into()),
        }
    }
}
