//! Recovery: at startup, a process resumes unfinished runs that no live process drives.

use crate::driver::DriveOutcome;
use crate::engine::{Engine, RunHandle};
use crate::fault::Fault;
use crate::ports::{RunFilter, RunRow, RunStatus};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// Runs that are resumed at one startup; the rest is resumed at the next one, or by hand.
const RECOVERED_MAX: usize = 10_000;
/// Runs that start to resume at once: the cause of a crash must not crash the process again
/// immediately.
const RESUMED_AT_ONCE_MAX: usize = 32;
/// Longest time that a resumed run delays the next one. A run that takes longer is waiting for
/// something.
const RESUME_STAGGER_MAX: Duration = Duration::from_millis(250);

/// The result of recovery.
#[derive(Default)]
pub struct RecoveryResult {
    /// The runs that are driven here, now or as soon as there is a free slot.
    pub driven: Vec<RunHandle>,
    /// The runs that could not be resumed, with the reason.
    pub failed: Vec<(RunId, Fault)>,
}

/// What to do with an unfinished run.
enum RecoveryAction {
    Resume,
    /// Its caller resumes it.
    ResumedByCaller,
    /// Its caller has ended: no run waits for it.
    Orphaned,
    NotOurs,
}

impl Engine {
    /// Resumes every run that was running, has no driver, and is `ours` to drive: a run whose
    /// servers are not known here would only fail. Paused runs stay paused. Only a few resume at a
    /// time.
    pub async fn recover(&self, ours: impl Fn(&Run) -> bool) -> Result<RecoveryResult, Fault> {
        let filter = RunFilter {
            status: vec![RunStatus::Running],
            limit: RECOVERED_MAX,
            ..RunFilter::default()
        };
        let mut recovered = RecoveryResult::default();
        let rows = self.runs(filter).await?.rows;
        let unfinished: HashSet<RunId> = rows.iter().map(|row| row.run.clone()).collect();
        let turns = Arc::new(Semaphore::new(RESUMED_AT_ONCE_MAX));
        for RunRow { run, .. } in rows.into_iter().filter(|row| !row.driven) {
            match self.recovery_action(&run, &ours, &unfinished).await {
                Ok(RecoveryAction::Resume) => {
                    recovered.driven.push(self.resume_when_free(run, &turns))
                }
                Ok(RecoveryAction::ResumedByCaller | RecoveryAction::NotOurs) => {}
                Ok(RecoveryAction::Orphaned) => {
                    let why = Some("the run that called it has ended".to_owned());
                    // It may just have ended by itself, which is fine.
                    let _ = self.abort(&run, "the calling run".into(), why).await;
                }
                Err(fault) => recovered.failed.push((run, fault)),
            }
        }
        Ok(recovered)
    }

    async fn recovery_action(
        &self,
        id: &RunId,
        ours: impl Fn(&Run) -> bool,
        unfinished: &HashSet<RunId>,
    ) -> Result<RecoveryAction, Fault> {
        let run = self.load(id).await?.run;
        if !ours(&run) {
            return Ok(RecoveryAction::NotOurs);
        }
        let Some(parent) = &run.started.parent else {
            return Ok(RecoveryAction::Resume);
        };
        if unfinished.contains(&parent.run) {
            return Ok(RecoveryAction::ResumedByCaller);
        }
        // An SOP session has no driver; its approval runs are children.
        match self.store().row(&parent.run).await? {
            Some(row) if row.index_row.status.is_over() => Ok(RecoveryAction::Orphaned),
            Some(_) | None => Ok(RecoveryAction::Resume),
        }
    }

    /// Resumes a run as soon as only a few others are starting.
    pub(crate) fn resume_when_free(&self, id: RunId, turns: &Arc<Semaphore>) -> RunHandle {
        let (engine, turns) = (self.clone(), Arc::clone(turns));
        let run = id.clone();
        RunHandle::queued(run, async move {
            let turn = turns.acquire_owned().await;
            if engine.is_stopping() {
                return Ok(DriveOutcome::Stopped);
            }
            let ended = engine.resume(&id).await?.wait();
            tokio::pin!(ended);
            match tokio::time::timeout(RESUME_STAGGER_MAX, &mut ended).await {
                Ok(ended) => ended,
                Err(_) => {
                    drop(turn);
                    ended.await
                }
            }
        })
    }
}
