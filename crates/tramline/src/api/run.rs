//! A run, started here or elsewhere: waiting for it, reading it, controlling it.

use super::drive_wait::DriveWaiter;
use super::{Answer, Error, OutcomeKind, RunEvents, RunOutcome, Trace, Tramline};
use std::sync::{Arc, Mutex, PoisonError};
use tramline_engine::{
    DriveOutcome, Engine, JournalPoint, LoadedRun, Respondent, RunHandle, WaitPolicy,
};
use tramline_views::trace;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, StepNo};
use tramline_workflow::journal::Outcome;

/// A run. Clones refer to the same run. Dropping it changes nothing: a run lives in its journal.
#[derive(Clone)]
pub struct Run {
    pub(super) tramline: Tramline,
    pub(super) id: RunId,
    graph: Arc<Graph>,
    /// Its driver in this process, if it was started from here.
    driver: Arc<Mutex<Option<DriveWaiter>>>,
}

impl Run {
    pub(super) fn new(tramline: Tramline, id: RunId, graph: Arc<Graph>) -> Self {
        Self {
            tramline,
            id,
            graph,
            driver: Arc::default(),
        }
    }

    /// Its id, by which every process can find it.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Waits until the run ends or needs an answer.
    ///
    /// Another process may drive it. A run without a driver is returned as [`OutcomeKind::Stopped`](super::OutcomeKind::Stopped).
    pub async fn wait(&self) -> Result<RunOutcome, Error> {
        loop {
            let driver = self.driver().clone();
            if let Some(driver) = driver {
                let ended = driver.wait().await.map_err(Error::Engine)?;
                if let Some(ended) = self.outcome_of_drive(&ended) {
                    return Ok(ended);
                }
            }
            let waited = self
                .engine()
                .wait(&self.id, None, WaitPolicy::Leave)
                .await?;
            match (waited.outcome, waited.run) {
                // It was answered while its driver here was releasing it: continue it here.
                (DriveOutcome::Stopped, _) if self.driver().take().is_some() => {
                    self.ensure_driven().await?;
                }
                (DriveOutcome::Stopped, _) => return Ok(self.stopped()),
                (DriveOutcome::Finished(_) | DriveOutcome::Paused(_), run) => {
                    // An answer may have arrived.
                    if let Some(ended) = run.and_then(|run| RunOutcome::of(&run)) {
                        return Ok(ended);
                    }
                }
            }
        }
    }

    /// The outcome that the end of a drive implies without reading the journal.
    fn outcome_of_drive(&self, ended: &DriveOutcome) -> Option<RunOutcome> {
        use DriveOutcome as E;
        match ended {
            E::Stopped => Some(self.stopped()),
            E::Finished(outcome @ (Outcome::Completed { .. } | Outcome::Aborted { .. })) => {
                Some(RunOutcome::finished(&self.graph, &self.id, outcome))
            }
            // These refer to nodes, which may have been added since, and an answer may have
            // arrived.
            E::Finished(Outcome::Failed { .. } | Outcome::Rejected { .. }) | E::Paused(_) => None,
        }
    }

    fn stopped(&self) -> RunOutcome {
        RunOutcome {
            run: self.id.clone(),
            kind: OutcomeKind::Stopped,
        }
    }

    /// Follows its events from the first on.
    pub fn follow(&self) -> RunEvents {
        RunEvents::new(self.engine(), &self.id, Arc::clone(&self.graph))
    }

    /// Every step so far, with input and output.
    pub async fn trace(&self) -> Result<Trace, Error> {
        Ok(self.render_trace(&self.load().await?))
    }

    /// The run as of the end of this step.
    pub async fn at(&self, step: StepNo) -> Result<Trace, Error> {
        Ok(self.render_trace(
            &self
                .engine()
                .load_at(&self.id, JournalPoint::Step(step))
                .await?,
        ))
    }

    fn render_trace(&self, loaded: &LoadedRun) -> Trace {
        let trace = trace::Trace::of(&self.id, &loaded.run.graph, &loaded.entries);
        Trace::of(&self.id, &trace)
    }

    /// Answers a question. The first answer wins. The run continues: here, unless another process
    /// drives it.
    pub async fn answer(&self, asked: &Checkpoint, answer: Answer) -> Result<(), Error> {
        self.append_answer(asked, answer).await?;
        self.ensure_driven().await
    }

    /// Answers without resuming the run.
    pub(super) async fn append_answer(
        &self,
        asked: &Checkpoint,
        answer: Answer,
    ) -> Result<(), Error> {
        let Answer {
            answer: what,
            by,
            reason: why,
        } = answer;
        let by = Respondent::program(by.unwrap_or_else(|| self.tramline.actor_name()));
        Ok(self.engine().answer(asked, what, by, why).await?)
    }

    /// Resumes a run that was stopped, or answered elsewhere.
    pub async fn resume(&self) -> Result<(), Error> {
        let handle = self.engine().resume(&self.id).await?;
        self.set_driver(handle);
        Ok(())
    }

    /// Aborts the run, wherever it is driven. Calls in flight are cancelled.
    pub async fn abort(&self, why: Option<&str>) -> Result<(), Error> {
        let (by, why) = (self.tramline.actor_name(), why.map(str::to_owned));
        Ok(self.engine().abort(&self.id, by, why).await?)
    }

    /// Drives it here unless it is driven or over.
    pub(super) async fn ensure_driven(&self) -> Result<(), Error> {
        if let Some(handle) = self.engine().resume_if_free(&self.id).await? {
            self.set_driver(handle);
        }
        Ok(())
    }

    pub(super) fn set_driver(&self, handle: RunHandle) -> DriveWaiter {
        let driver = DriveWaiter::new(handle);
        *self.driver() = Some(driver.clone());
        driver
    }

    fn driver(&self) -> std::sync::MutexGuard<'_, Option<DriveWaiter>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine(&self) -> &Engine {
        self.tramline.engine()
    }

    pub(super) async fn load(&self) -> Result<LoadedRun, Error> {
        Ok(self.engine().load(&self.id).await?)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Run").field(&self.id).finish()
    }
}
