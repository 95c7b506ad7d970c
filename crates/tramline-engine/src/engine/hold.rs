//! Holding a run: one driver in this process, one process among all.

use super::expiry::over;
use super::{Engine, Inner, Live, Loaded};
use crate::drive::{Driver, Ended};
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::lookout;
use crate::seams::{Claim, Status};
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::task::JoinHandle;
use tramline_core::ids::RunId;
use tramline_core::journal::Event;
use tramline_core::run::Run;

/// A run that is being driven here.
pub struct Handle {
    /// Which one.
    pub run: RunId,
    task: JoinHandle<Result<Ended, Fault>>,
}

impl Handle {
    /// Waits until the run ends or pauses. Dropping the handle does not stop the run.
    pub async fn ended(self) -> Result<Ended, Fault> {
        match self.task.await {
            Ok(ended) => ended,
            Err(died) => Err(Fault::Refused(format!(
                "the driver of {} died: {died}",
                self.run
            ))),
        }
    }
}

/// The one place in this process from which a run is driven; free again when dropped.
pub(super) struct Seat {
    inner: Arc<Inner>,
    run: RunId,
    live: Arc<Live>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.inner.live().remove(&self.run);
    }
}

impl Inner {
    /// Takes the seat of a run, unless somebody in this process has it.
    pub(super) fn seat(self: &Arc<Self>, run: &RunId) -> Result<Seat, Fault> {
        match self.live().entry(run.clone()) {
            Entry::Occupied(_) => Err(Fault::Elsewhere {
                run: run.clone(),
                owner: "this process".into(),
            }),
            Entry::Vacant(place) => Ok(Seat {
                inner: Arc::clone(self),
                run: run.clone(),
                live: Arc::clone(place.insert(Arc::default())),
            }),
        }
    }

    /// Claims a run among all processes, and folds it to be driven on.
    async fn take_over(&self, id: &RunId) -> Result<(Run, Ledger), Fault> {
        if let Claim::Elsewhere { owner } = self.store.claim(id).await? {
            return Err(Fault::Elsewhere {
                run: id.clone(),
                owner,
            });
        }
        match self.fold_on(id).await {
            Ok(taken) => Ok(taken),
            Err(fault) => {
                self.store.release(id).await?;
                Err(fault)
            }
        }
    }

    async fn fold_on(&self, id: &RunId) -> Result<(Run, Ledger), Fault> {
        let Loaded { mut run, bytes, .. } = self.load(id).await?;
        if run.outcome.is_some() {
            return Err(over(&run));
        }
        let mut ledger = Ledger::new(Arc::clone(&self.store), run.seq, bytes);
        let by = self.options.name.clone();
        ledger.record(&mut run, Event::Resumed { by })?;
        Ok((run, ledger))
    }

    /// Drives a run and lets go of it.
    async fn drive(
        self: &Arc<Self>,
        seat: &Seat,
        run: Run,
        ledger: Ledger,
    ) -> Result<Ended, Fault> {
        let live = Arc::clone(&seat.live);
        let ended = Driver::new(Arc::clone(self), run, ledger, live)
            .drive()
            .await;
        // An ended run gave its claim back with its last event.
        if !matches!(ended, Ok(Ended::Finished(_))) {
            self.store.release(&seat.run).await?;
        }
        ended
    }

    /// Whether a run that paused has been answered while its driver was letting go.
    async fn is_answered(&self, run: &RunId) -> Result<bool, Fault> {
        let row = self.store.row(run).await?;
        Ok(row.is_some_and(|row| row.head.status == Status::Running && !row.driven))
    }
}

impl Engine {
    /// Takes a run over and drives it on: after a crash, after an answer, after a stop.
    pub async fn resume(&self, id: &RunId) -> Result<Handle, Fault> {
        self.steerable(id).await?;
        let seat = self.0.seat(id)?;
        let (run, ledger) = self.0.take_over(id).await?;
        Ok(self.spawn(seat, run, ledger))
    }

    pub(super) fn spawn(&self, seat: Seat, run: Run, ledger: Ledger) -> Handle {
        if !self.0.watched.swap(true, Ordering::AcqRel) {
            tokio::spawn(lookout::watch(Arc::downgrade(&self.0)));
        }
        let id = run.id.clone();
        let inner = Arc::clone(&self.0);
        let task = self.0.tasks.spawn(async move {
            let parent = run.started.parent.clone();
            let mut ended = inner.drive(&seat, run, ledger).await;
            // Who answered before we let go was told that the run goes on.
            while let Ok(Ended::Paused(pauses)) = &ended {
                let settled = inner.settle_children(&seat.run, pauses).await?;
                if !settled && !inner.is_answered(&seat.run).await? {
                    break;
                }
                match inner.take_over(&seat.run).await {
                    Ok((run, ledger)) => ended = inner.drive(&seat, run, ledger).await,
                    Err(Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. }) => {
                        break;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            if let (Ok(Ended::Finished(_)), Some(parent)) = (&ended, parent) {
                inner.wake_parent(&seat.run, &parent.run).await;
            }
            ended
        });
        Handle { run: id, task }
    }
}
