//! Expiry of SOP sessions whose agent does not return in time.

use super::super::Engine;
use crate::fault::Fault;
use crate::journal_writer::outcome_status;
use crate::ports::AppendError;
use tramline_sop::SopSession;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{EXPIRY, Event, Outcome, RunEvent};

/// Whether a session has expired.
pub(super) fn is_due(walk: &SopSession, now_ms: i64) -> bool {
    walk.outcome.is_none() && walk.expires_ms().is_some_and(|due| due <= now_ms)
}

/// The fault for a command to a session that has ended.
pub(super) fn session_ended(walk: &SopSession, outcome: &Outcome) -> Fault {
    let run = walk.id.clone();
    match outcome.is_expired() {
        true => Fault::Expired { run },
        false => Fault::Ended {
            run,
            status: outcome_status(outcome).as_str(),
        },
    }
}

impl Engine {
    /// Ends a session if it has expired and was not used in the meantime. Returns whether it ended.
    pub(in super::super) async fn expire_sop_session(
        &self,
        id: &RunId,
        now_ms: i64,
    ) -> Result<bool, Fault> {
        let seat = self.0.sop_session(id).await?;
        let mut walk = seat.lock().await;
        self.expire_session_state(&mut walk, now_ms).await
    }

    pub(super) async fn expire_session_state(
        &self,
        walk: &mut SopSession,
        now_ms: i64,
    ) -> Result<bool, Fault> {
        // Another process may have moved it.
        self.0.catch_up_session(walk).await?;
        if !is_due(walk, now_ms) {
            return Ok(false);
        }
        let asked: Vec<RunId> = walk
            .pending_approvals()
            .map(|(_, run)| run.clone())
            .collect();
        self.withdraw_approvals(&asked).await?;
        let outcome = Outcome::Aborted {
            by: EXPIRY.into(),
            why: Some("the agent did not return in time".to_owned()),
        };
        match self
            .0
            .append_session_events(walk, &[Event::Run(RunEvent::Finished { outcome })])
            .await
        {
            Ok(()) => Ok(true),
            // A command arrived just now.
            Err(AppendError::Conflict { .. } | AppendError::Elsewhere { .. }) => {
                self.0.catch_up_session(walk).await?;
                Ok(false)
            }
            Err(AppendError::Store(fault)) => Err(fault.into()),
        }
    }
}
