//! A run that a call waits for, whichever process drives it.

use std::sync::Arc;
use std::time::Duration;
use tramline_engine::seams::RunStatus;
use tramline_engine::{DriveOutcome, Engine, Fault, LoadedRun, PauseAnswer, RunHandle, RunStart};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::run::Run;

/// How often to poll a run that another process drives, in addition to store notifications: a process that dies
/// sends none.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How far a run was reported to the caller: the last event and the number of notifications.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReportedProgress {
    pub(super) seen: Seq,
    pub(super) count: u32,
}

/// What happens to a run when its caller cancels the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnCancel {
    /// It is aborted: it belongs to that call.
    Abort,
    /// It continues: its caller returns to it by its id.
    Continue,
}

/// A run that a call waits for.
pub(super) struct AwaitedRun {
    /// The run.
    pub(super) run: RunId,
    /// Its graph.
    pub(super) graph: Arc<Graph>,
    /// How far it was reported to the caller.
    pub(super) reported: ReportedProgress,
    /// What happens to it when the call is cancelled.
    pub(super) on_cancel: OnCancel,
    /// Its driver, if it is in this process.
    driver: Option<RunHandle>,
    /// Its state at its last pause or end, if this process has driven or loaded it.
    state: Option<Arc<Run>>,
}

impl AwaitedRun {
    /// Starts a run.
    pub(super) async fn start(engine: &Engine, start: RunStart) -> Result<Self, Fault> {
        let graph = Arc::clone(&start.graph);
        let handle = engine.start(start).await?;
        Ok(Self {
            run: handle.run.clone(),
            graph,
            reported: ReportedProgress::default(),
            on_cancel: OnCancel::Abort,
            driver: Some(handle),
            state: None,
        })
    }

    /// Loads a run from its journal.
    pub(super) async fn load(engine: &Engine, id: &RunId) -> Result<Self, Fault> {
        Ok(Self::of(&engine.load(id).await?.run))
    }

    /// A run that was just loaded.
    pub(super) fn of(run: &Run) -> Self {
        Self {
            run: run.id.clone(),
            graph: Arc::clone(&run.graph),
            reported: ReportedProgress {
                seen: run.seq,
                count: 0,
            },
            on_cancel: OnCancel::Abort,
            driver: None,
            state: None,
        }
    }

    /// Answers the questions of a run that was just loaded and resumes it.
    pub(super) async fn answer_and_resume(
        engine: &Engine,
        loaded: LoadedRun,
        said: Vec<PauseAnswer>,
    ) -> Result<Self, Fault> {
        let run = &loaded.run;
        Ok(Self {
            run: run.id.clone(),
            graph: Arc::clone(&run.graph),
            reported: ReportedProgress {
                seen: run.seq,
                count: 0,
            },
            on_cancel: OnCancel::Continue,
            driver: engine.answer_loaded(loaded, said).await?,
            state: None,
        })
    }

    /// The run at its last pause or end: as its driver left it, otherwise read from its journal.
    pub(super) async fn state(&mut self, engine: &Engine) -> Result<Arc<Run>, Fault> {
        match self.state.take() {
            Some(run) => Ok(run),
            None => Ok(Arc::new(engine.load(&self.run).await?.run)),
        }
    }

    /// Waits until the run ends or pauses, and drives it if it has no driver.
    pub(super) async fn wait(&mut self, engine: &Engine) -> Result<DriveOutcome, Fault> {
        let mut changes = engine.store().changes();
        loop {
            if let Some(driver) = self.driver.take() {
                match driver.wait_for_run().await {
                    // Another process drives it and has received the answer.
                    Err(Fault::Elsewhere { .. }) => {}
                    Err(fault) => return Err(fault),
                    Ok((ended, state)) => {
                        self.state = state;
                        return Ok(ended);
                    }
                }
            }
            changes.mark_unchanged();
            let row = engine.store().row(&self.run).await?;
            let row = row.ok_or_else(|| Fault::NotFound(self.run.clone()))?;
            match row.index_row.status {
                RunStatus::Running if row.driven => {}
                RunStatus::Running => {
                    self.driver = Box::pin(drive_if_free(engine, &self.run)).await?;
                    continue;
                }
                RunStatus::Paused if row.driven => {}
                RunStatus::Paused
                | RunStatus::SopSession
                | RunStatus::Completed
                | RunStatus::Failed
                | RunStatus::Rejected
                | RunStatus::Aborted
                | RunStatus::Expired => {
                    let run = Box::pin(engine.load(&self.run)).await?.run;
                    let pauses = run.pauses.clone();
                    let paused = || DriveOutcome::Paused(pauses.into_iter().collect());
                    let outcome = run.outcome.clone();
                    self.state = Some(Arc::new(run));
                    return Ok(outcome.map_or_else(paused, DriveOutcome::Finished));
                }
            }
            let _ = tokio::time::timeout(POLL_INTERVAL, changes.changed()).await;
        }
    }
}

/// Drives a run here; `None` if another process does or it has ended.
async fn drive_if_free(engine: &Engine, run: &RunId) -> Result<Option<RunHandle>, Fault> {
    match engine.resume(run).await {
        Ok(handle) => Ok(Some(handle)),
        Err(Fault::Elsewhere { .. } | Fault::Ended { .. } | Fault::Expired { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Aborts a run whose caller has cancelled. If it has just ended by itself, that outcome counts.
pub(super) async fn abort_cancelled(engine: &Engine, run: &RunId) {
    let why = Some("the caller cancelled".to_owned());
    let _ = engine.abort(run, "caller".into(), why).await;
}
