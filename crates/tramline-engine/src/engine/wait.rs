//! Waits for a run, whichever process drives it.

use super::{DriveOutcome, Engine, RunHandle};
use crate::fault::Fault;
use crate::ports::{RunRow, RunStatus, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::run::Run;

/// How often a run that another process drives is read, in addition to change notifications of the store: a process
/// that dies sends none.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What happens to an awaited run that can continue and has no driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// This process drives it.
    Drive,
    /// It is returned as [`DriveOutcome::Stopped`], and a paused run even before its driver releases it.
    Leave,
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
        let mut rows = self.watch_row(run);
        loop {
            if let Some(driver) = driver.take() {
                match driver.wait_for_run().await {
                    // Another process drives it and has received the answer.
                    Err(Fault::Elsewhere { .. }) => {}
                    Err(fault) => return Err(fault),
                    Ok((outcome, run)) => return Ok(WaitedRun { outcome, run }),
                }
            }
            let row = rows.next().await?;
            let row = row.ok_or_else(|| Fault::NotFound(run.clone()))?;
            match (row.index_row.status, policy) {
                (RunStatus::Running, _) | (RunStatus::Paused, WaitPolicy::Drive) if row.driven => {}
                (RunStatus::Running, WaitPolicy::Drive) => {
                    driver = Box::pin(self.resume_if_free(run)).await?;
                }
                (RunStatus::Running, WaitPolicy::Leave) => {
                    let outcome = DriveOutcome::Stopped;
                    return Ok(WaitedRun { outcome, run: None });
                }
                (
                    RunStatus::Paused
                    | RunStatus::SopSession
                    | RunStatus::Completed
                    | RunStatus::Failed
                    | RunStatus::Rejected
                    | RunStatus::Aborted
                    | RunStatus::Expired,
                    _,
                ) => {
                    let run = Box::pin(self.load(run)).await?.run;
                    let outcome = match &run.outcome {
                        Some(outcome) => DriveOutcome::Finished(outcome.clone()),
                        None => DriveOutcome::Paused(run.pauses.clone().into_iter().collect()),
                    };
                    let run = Some(Arc::new(run));
                    return Ok(WaitedRun { outcome, run });
                }
            }
        }
    }

    /// Watches the index row of a run, whichever process changes it.
    pub fn watch_row(&self, run: &RunId) -> RowWatch {
        let mut changes = self.0.store.changes_of(run);
        // The first row is returned at once.
        changes.mark_changed();
        RowWatch {
            store: Arc::clone(&self.0.store),
            run: run.clone(),
            changes,
            interval: POLL_INTERVAL,
        }
    }

    /// Waits until a question is no longer open.
    pub async fn wait_until_answered(&self, asked: &Checkpoint) -> Result<(), Fault> {
        let mut rows = self.watch_row(&asked.run);
        let mut seen = 0;
        loop {
            let last = rows.next().await?.map_or(0, |row| row.last);
            if last != seen {
                seen = last;
                let loaded = Box::pin(self.load(&asked.run)).await?;
                if !loaded.run.pauses.contains_key(&asked.seq) {
                    return Ok(());
                }
            }
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

/// The index row of a run: now, and again after changes of the store.
pub struct RowWatch {
    store: Arc<dyn Store>,
    run: RunId,
    changes: watch::Receiver<u64>,
    interval: Duration,
}

impl RowWatch {
    /// Reads the row at least this often.
    pub fn every(self, interval: Duration) -> Self {
        Self { interval, ..self }
    }

    /// The row, at once or after the next change; `None` while the run does not exist.
    pub async fn next(&mut self) -> Result<Option<RunRow>, Fault> {
        let changed = tokio::time::timeout(self.interval, self.changes.changed()).await;
        if let Ok(Err(_)) = changed {
            // The store sends no more notifications.
            tokio::time::sleep(self.interval).await;
        }
        self.changes.mark_unchanged();
        Ok(self.store.row(&self.run).await?)
    }
}
