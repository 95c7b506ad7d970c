//! A run that a call waits for, whichever process drives it.

use std::sync::Arc;
use tramline_engine::{
    DriveOutcome, Engine, Fault, LoadedRun, PauseAnswer, RunHandle, RunStart, WaitPolicy,
};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::run::Run;

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
        let driver = self.driver.take();
        let waited = engine.wait(&self.run, driver, WaitPolicy::Drive).await?;
        self.state = waited.run;
        Ok(waited.outcome)
    }
}

/// Aborts a run whose caller has cancelled. If it has just ended by itself, that outcome counts.
pub(super) async fn abort_cancelled(engine: &Engine, run: &RunId) {
    let why = Some("the caller cancelled".to_owned());
    let _ = engine.abort(run, "caller".into(), why).await;
}
