//! Unfinished runs go on: at start-up, a process takes over what no living process drives.

use crate::drive::Ended;
use crate::engine::{Engine, Handle};
use crate::fault::Fault;
use crate::seams::{RunFilter, RunRow, Status};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tramline_core::ids::RunId;
use tramline_core::run::Run;

/// Runs that are taken over at a start; the rest at the next one, or by hand.
const TAKEN_MAX: usize = 10_000;
/// Runs that begin to go on at once: what brought a process down must not do so again at once.
const RESUMED_AT_ONCE_MAX: usize = 32;
/// How long a resumed run delays the next one. One that takes longer is waiting for something.
const RESUMED_ALONE: Duration = Duration::from_millis(250);

/// What taking over came to.
#[derive(Default)]
pub struct Recovered {
    /// The runs that are driven here now, or as soon as their turn comes.
    pub driven: Vec<Handle>,
    /// The runs that could not be taken over, with why.
    pub left: Vec<(RunId, Fault)>,
}

/// What is to be done about an unfinished run.
enum Found {
    Resume,
    /// Its caller brings it along.
    Brought,
    /// Its caller is over: no run waits for it.
    Orphaned,
    NotOurs,
}

impl Engine {
    /// Takes over every run that was under way, has no driver, and is `ours` to drive: whose
    /// servers are not known here would only fail here. Paused runs stay paused. They begin to go on
    /// a few at a time.
    pub async fn recover(&self, ours: impl Fn(&Run) -> bool) -> Result<Recovered, Fault> {
        let filter = RunFilter {
            status: vec![Status::Running],
            most: TAKEN_MAX,
            ..RunFilter::default()
        };
        let mut recovered = Recovered::default();
        let rows = self.runs(filter).await?.rows;
        let unfinished: HashSet<RunId> = rows.iter().map(|row| row.run.clone()).collect();
        let turns = Arc::new(Semaphore::new(RESUMED_AT_ONCE_MAX));
        for RunRow { run, .. } in rows.into_iter().filter(|row| !row.driven) {
            match self.found(&run, &ours, &unfinished).await {
                Ok(Found::Resume) => recovered.driven.push(self.resume_in_turn(run, &turns)),
                Ok(Found::Brought | Found::NotOurs) => {}
                Ok(Found::Orphaned) => {
                    let why = Some("the run that called it is over".to_owned());
                    // It may have ended by itself in this moment, which is as good.
                    let _ = self.abort(&run, "the calling run".into(), why).await;
                }
                Err(fault) => recovered.left.push((run, fault)),
            }
        }
        Ok(recovered)
    }

    async fn found(
        &self,
        id: &RunId,
        ours: impl Fn(&Run) -> bool,
        unfinished: &HashSet<RunId>,
    ) -> Result<Found, Fault> {
        let run = self.load(id).await?.run;
        if !ours(&run) {
            return Ok(Found::NotOurs);
        }
        let Some(parent) = &run.started.parent else {
            return Ok(Found::Resume);
        };
        if unfinished.contains(&parent.run) {
            return Ok(Found::Brought);
        }
        // A conversation is not driven, and its questions are runs below it.
        match self.store().row(&parent.run).await? {
            Some(row) if row.head.status.is_over() => Ok(Found::Orphaned),
            Some(_) | None => Ok(Found::Resume),
        }
    }

    /// Drives a run on as soon as few others are beginning to.
    fn resume_in_turn(&self, id: RunId, turns: &Arc<Semaphore>) -> Handle {
        let (engine, turns) = (self.clone(), Arc::clone(turns));
        let run = id.clone();
        Handle::queued(run, async move {
            let turn = turns.acquire_owned().await;
            if engine.is_stopping() {
                return Ok(Ended::Stopped);
            }
            let ended = engine.resume(&id).await?.ended();
            tokio::pin!(ended);
            match tokio::time::timeout(RESUMED_ALONE, &mut ended).await {
                Ok(ended) => ended,
                Err(_) => {
                    drop(turn);
                    ended.await
                }
            }
        })
    }
}
