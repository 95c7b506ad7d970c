//! Waits for a run, whichever process drives it.

use super::{DriveOutcome, Engine, RunHandle};
use crate::fault::Fault;
use crate::ports::RunStatus;
use std::sync::Arc;
use std::time::Duration;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// How often a run that another process drives is read, in addition to change notifications of the store: a process
/// that dies sends none.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What happens to an awaited run that can continue and has no driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// This process drives it.
    Drive,
    /// It is only watched until another process drives it.
    Watch,
}

/// A run that has ended, paused or been left by its driver.
#[derive(Debug)]
pub struct WaitedRun {
    /// Why the wait is over.
    pub outcome: DriveOutcome,
    /// The run at that moment, if it is in memory.
    pub run: Option<Arc<Run>>,
}

impl Engine {
    /// Waits until a run ends or pauses. `driver` is its driver, if the caller has started one.
    pub async fn wait(
        &self,
        run: &RunId,
        mut driver: Option<RunHandle>,
        policy: WaitPolicy,
    ) -> Result<WaitedRun, Fault> {
        let mut changes = self.0.store.changes();
        loop {
            if let Some(driver) = driver.take() {
                match driver.wait_for_run().await {
                    // Another process drives it and has received the answer.
                    Err(Fault::Elsewhere { .. }) => {}
                    Err(fault) => return Err(fault),
                    Ok((outcome, run)) => return Ok(WaitedRun { outcome, run }),
                }
            }
            changes.mark_unchanged();
            let row = self.0.store.row(run).await?;
            let row = row.ok_or_else(|| Fault::NotFound(run.clone()))?;
            match row.index_row.status {
                RunStatus::Running | RunStatus::Paused if row.driven => {}
                RunStatus::Running => {
                    if policy == WaitPolicy::Drive {
                        driver = Box::pin(self.resume_if_free(run)).await?;
                        continue;
                    }
                }
                RunStatus::Paused
                | RunStatus::SopSession
                | RunStatus::Completed
                | RunStatus::Failed
                | RunStatus::Rejected
                | RunStatus::Aborted
                | RunStatus::Expired => {
                    let run = Box::pin(self.load(run)).await?.run;
                    let outcome = match &run.outcome {
                        Some(outcome) => DriveOutcome::Finished(outcome.clone()),
                        None => DriveOutcome::Paused(run.pauses.clone().into_iter().collect()),
                    };
                    let run = Some(Arc::new(run));
                    return Ok(WaitedRun { outcome, run });
                }
            }
            let _ = tokio::time::timeout(POLL_INTERVAL, changes.changed()).await;
        }
    }

    /// Drives a run here; `None` if another driver does or the run has ended.
    pub async fn resume_if_free(&self, run: &RunId) -> Result<Option<RunHandle>, Fault> {
        if self.is_foreign(run, None).await? {
            return Ok(None);
        }
        match self.resume(run).await {
            Ok(handle) => Ok(Some(handle)),
            Err(Fault::Elsewhere { .. } | Fault::Ended { .. } | Fault::Expired { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}
