//! A run that was begun, here or elsewhere: waiting for it, reading it, steering it.

use super::driver::Driver;
use super::{Answer, Ended, Error, Follow, How, Trace, Tramline};
use std::sync::{Arc, Mutex, PoisonError};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, StepNo};
use tramline_core::journal::Outcome;
use tramline_core::trace;
use tramline_engine::seams::Status;
use tramline_engine::{At, Engine, Fault, Handle, Loaded, Respondent};

/// A run. Clones mean the same one. Dropping it changes nothing: a run lives in its journal.
#[derive(Clone)]
pub struct Run {
    pub(super) tramline: Tramline,
    pub(super) id: RunId,
    graph: Arc<Graph>,
    /// Whoever drives it in this process, if that was begun from here.
    driver: Arc<Mutex<Option<Driver>>>,
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

    /// Its id, by which every process finds it again.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Waits until the run ends or can go on only after an answer.
    ///
    /// It may be driven by another process. One that nobody drives is told as [`How::Stopped`].
    pub async fn wait(&self) -> Result<Ended, Error> {
        let mut changes = self.engine().store().changes();
        loop {
            let driver = self.driver().clone();
            if let Some(driver) = driver {
                let ended = driver.ended().await.map_err(Error::Engine)?;
                if let Some(ended) = self.settled(&ended) {
                    return Ok(ended);
                }
            }
            changes.mark_unchanged();
            let row = self.engine().store().row(&self.id).await;
            let Some(row) = row.map_err(Fault::from)? else {
                return Err(Fault::NotFound(self.id.clone()).into());
            };
            match row.head.status {
                Status::Running if row.driven => {}
                // Answered while its driver here was letting go of it: it is ours to go on with.
                Status::Running if self.driver().take().is_some() => {
                    self.drive_on().await?;
                    continue;
                }
                Status::Running => return Ok(self.stopped()),
                Status::Paused
                | Status::Guided
                | Status::Completed
                | Status::Failed
                | Status::Rejected
                | Status::Aborted
                | Status::Expired => {
                    if let Some(ended) = Ended::of(&self.load().await?.run) {
                        return Ok(ended);
                    }
                }
            }
            if changes.changed().await.is_err() {
                return Ok(self.stopped());
            }
        }
    }

    /// What a drive's end says of the run without reading its journal.
    fn settled(&self, ended: &tramline_engine::Ended) -> Option<Ended> {
        use tramline_engine::Ended as E;
        match ended {
            E::Stopped => Some(self.stopped()),
            E::Finished(outcome @ (Outcome::Completed { .. } | Outcome::Aborted { .. })) => {
                Some(Ended::over(&self.graph, &self.id, outcome))
            }
            // These name nodes, which may have been added since; and an answer may have come.
            E::Finished(Outcome::Failed { .. } | Outcome::Rejected { .. }) | E::Paused(_) => None,
        }
    }

    fn stopped(&self) -> Ended {
        Ended {
            run: self.id.clone(),
            how: How::Stopped,
        }
    }

    /// Follows its events from the first on.
    pub fn follow(&self) -> Follow {
        Follow::new(self.engine(), &self.id, Arc::clone(&self.graph))
    }

    /// Every step so far, with what went in and what came out.
    pub async fn trace(&self) -> Result<Trace, Error> {
        Ok(self.told(&self.load().await?))
    }

    /// The run as it stood when this step had ended.
    pub async fn at(&self, step: StepNo) -> Result<Trace, Error> {
        Ok(self.told(&self.engine().load_at(&self.id, At::Step(step)).await?))
    }

    fn told(&self, loaded: &Loaded) -> Trace {
        let trace = trace::Trace::of(&self.id, &loaded.run.graph, &loaded.entries);
        Trace::of(&self.id, &trace)
    }

    /// Answers a question. The first answer counts. The run goes on: here, unless another process
    /// drives it.
    pub async fn answer(&self, asked: &Checkpoint, answer: Answer) -> Result<(), Error> {
        self.say(asked, answer).await?;
        self.drive_on().await
    }

    /// Answers without going on.
    pub(super) async fn say(&self, asked: &Checkpoint, answer: Answer) -> Result<(), Error> {
        let Answer { what, by, why } = answer;
        let by = Respondent::program(by.unwrap_or_else(|| self.tramline.name()));
        Ok(self.engine().answer(asked, what, by, why).await?)
    }

    /// Goes on with a run that was stopped, or answered elsewhere.
    pub async fn resume(&self) -> Result<(), Error> {
        let handle = self.engine().resume(&self.id).await?;
        self.driven_by(handle);
        Ok(())
    }

    /// Ends the run, wherever it is driven. Calls under way are cancelled.
    pub async fn abort(&self, why: Option<&str>) -> Result<(), Error> {
        let (by, why) = (self.tramline.name(), why.map(str::to_owned));
        Ok(self.engine().abort(&self.id, by, why).await?)
    }

    /// Drives it here unless it is driven or over.
    pub(super) async fn drive_on(&self) -> Result<(), Error> {
        match self.resume().await {
            Err(Error::Engine(fault)) => match *fault {
                Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. } => Ok(()),
                Fault::Store(_)
                | Fault::NotFound(_)
                | Fault::Stale { .. }
                | Fault::PersonNeeded(_)
                | Fault::Quota(_)
                | Fault::Refused(_)
                | Fault::BadInput { .. }
                | Fault::TooLarge(_)
                | Fault::Damaged { .. } => Err(Error::Engine(fault)),
            },
            done => done,
        }
    }

    pub(super) fn driven_by(&self, handle: Handle) -> Driver {
        let driver = Driver::new(handle);
        *self.driver() = Some(driver.clone());
        driver
    }

    fn driver(&self) -> std::sync::MutexGuard<'_, Option<Driver>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine(&self) -> &Engine {
        self.tramline.engine()
    }

    pub(super) async fn load(&self) -> Result<Loaded, Error> {
        Ok(self.engine().load(&self.id).await?)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Run").field(&self.id).finish()
    }
}
