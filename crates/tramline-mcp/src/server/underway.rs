//! A run on its way for a caller, whichever process drives it.

use std::sync::Arc;
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::run::Run;
use tramline_engine::seams::Status;
use tramline_engine::{Ended, Engine, Fault, Handle, Said, Start};

/// How often a run that others drive is looked at, beside when the store says that something
/// happened: a process that dies says nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How far a caller has been told of a run: the last event, and how many notices that took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub(super) seen: Seq,
    pub(super) count: u32,
}

/// What becomes of a run whose caller cancels the call that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// It ends: it was made for that call.
    Ends,
    /// It goes on: its caller comes back to it by its id.
    GoesOn,
}

/// A run on its way.
pub(super) struct Underway {
    /// Which one.
    pub(super) run: RunId,
    /// What it runs.
    pub(super) graph: Arc<Graph>,
    /// How far the caller has been told of it.
    pub(super) told: Told,
    /// What becomes of it when the call is cancelled.
    pub(super) cancelled: Cancelled,
    /// Its driver, if that is in this process.
    driver: Option<Handle>,
}

impl Underway {
    /// Starts a run.
    pub(super) async fn start(engine: &Engine, start: Start) -> Result<Self, Fault> {
        let graph = Arc::clone(&start.graph);
        let handle = engine.start(start).await?;
        Ok(Self {
            run: handle.run.clone(),
            graph,
            told: Told::default(),
            cancelled: Cancelled::Ends,
            driver: Some(handle),
        })
    }

    /// Takes up a run from its journal.
    pub(super) async fn take_up(engine: &Engine, id: &RunId) -> Result<Self, Fault> {
        let Run { graph, seq, .. } = engine.load(id).await?.run;
        Ok(Self {
            run: id.clone(),
            graph,
            told: Told {
                seen: seq,
                count: 0,
            },
            cancelled: Cancelled::Ends,
            driver: None,
        })
    }

    /// Answers what a run asks, and goes on with it.
    pub(super) async fn go_on(engine: &Engine, run: &Run, said: Vec<Said>) -> Result<Self, Fault> {
        Ok(Self {
            run: run.id.clone(),
            graph: Arc::clone(&run.graph),
            told: Told {
                seen: run.seq,
                count: 0,
            },
            cancelled: Cancelled::GoesOn,
            driver: engine.go_on_with(&run.id, said).await?,
        })
    }

    /// Waits until the run ends or pauses, and drives it if it should go on and nobody does.
    pub(super) async fn ended(&mut self, engine: &Engine) -> Result<Ended, Fault> {
        let mut changes = engine.store().changes();
        loop {
            if let Some(driver) = self.driver.take() {
                match driver.ended().await {
                    // Another process drives it, and has heard what was said here.
                    Err(Fault::Elsewhere { .. }) => {}
                    ended => return ended,
                }
            }
            changes.mark_unchanged();
            let row = engine.store().row(&self.run).await?;
            let row = row.ok_or_else(|| Fault::NotFound(self.run.clone()))?;
            match row.head.status {
                Status::Running if row.driven => {}
                Status::Running => {
                    self.driver = Box::pin(drive(engine, &self.run)).await?;
                    continue;
                }
                Status::Paused if row.driven => {}
                Status::Paused
                | Status::Guided
                | Status::Completed
                | Status::Failed
                | Status::Rejected
                | Status::Aborted
                | Status::Expired => {
                    let Run {
                        outcome, pauses, ..
                    } = Box::pin(engine.load(&self.run)).await?.run;
                    let paused = || Ended::Paused(pauses.into_iter().collect());
                    return Ok(outcome.map_or_else(paused, Ended::Finished));
                }
            }
            let _ = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
        }
    }
}

/// Drives a run that may be driven here; nothing if another does or it is over.
async fn drive(engine: &Engine, run: &RunId) -> Result<Option<Handle>, Fault> {
    match engine.resume(run).await {
        Ok(handle) => Ok(Some(handle)),
        Err(Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Ends a run whose caller has cancelled. It may have ended by itself in this moment; then that
/// stands.
pub(super) async fn end(engine: &Engine, run: &RunId) {
    let why = Some("the caller cancelled".to_owned());
    let _ = engine.abort(run, "caller".into(), why).await;
}
