//! Holding a run: one driver in this process, one process among all.

use super::driving::Driving;
use super::expiry::over;
use super::{Engine, Inner, Live, Loaded, Respondent, Speech, stale};
use crate::audit::Decision;
use crate::clock;
use crate::drive::{Driver, Ended};
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::lookout;
use crate::seams::{Claim, Status};
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tramline_core::ids::{Checkpoint, RunId, Seq};
use tramline_core::journal::{Answer, Event};
use tramline_core::run::Run;

/// A run that is being driven here.
pub struct Handle {
    /// Which one.
    pub run: RunId,
    driving: Driving,
    live: Arc<Live>,
}

impl Handle {
    /// A run that will be driven in a task, when that gets to it.
    pub(crate) fn queued(
        run: RunId,
        drives: impl Future<Output = Result<Ended, Fault>> + Send + 'static,
    ) -> Self {
        Self {
            run,
            driving: Driving::Task(tokio::spawn(drives)),
            live: Arc::default(),
        }
    }

    /// Waits until the answers it was begun with are durable, or tells why they came too late. The
    /// run goes on meanwhile.
    pub async fn heard(self) -> Result<Self, Fault> {
        match self.live.settled().await {
            Speech::None | Speech::Heard | Speech::Pending => Ok(self),
            Speech::Lost => match self.ended().await {
                Err(fault) => Err(fault),
                Ok(_) => Err(Fault::Refused(
                    "the run ended before it was answered".into(),
                )),
            },
        }
    }

    /// Waits until the run ends or pauses. Dropping the handle does not stop the run.
    pub async fn ended(self) -> Result<Ended, Fault> {
        let died = match self.driving {
            Driving::Over(ended) => return ended,
            Driving::Died => "it panicked".to_owned(),
            Driving::Task(task) => match task.await {
                Ok(ended) => return ended,
                Err(died) => died.to_string(),
            },
        };
        let run = &self.run;
        Err(Fault::Refused(format!("the driver of {run} died: {died}")))
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
        let driven = {
            let mut live = self.inner.live();
            live.remove(&self.run);
            live.len()
        };
        if let Some(observer) = self.inner.observer() {
            observer.driving(driven);
        }
        self.live.heard(Speech::Lost);
    }
}

/// An answer to one of the questions of a run.
#[derive(Clone, Debug)]
pub struct Said {
    /// The question's place in the journal.
    pub pause: Seq,
    /// What is answered.
    pub answer: Answer,
    /// By whom.
    pub by: Respondent,
    /// Why.
    pub why: Option<String>,
}

impl Inner {
    /// Takes the seat of a run, unless somebody in this process has it.
    pub(super) fn seat(self: &Arc<Self>, run: &RunId) -> Result<Seat, Fault> {
        let mut all = self.live();
        let live = match all.entry(run.clone()) {
            Entry::Occupied(_) => {
                return Err(Fault::Elsewhere {
                    run: run.clone(),
                    owner: "this process".into(),
                });
            }
            Entry::Vacant(place) => Arc::clone(place.insert(Arc::default())),
        };
        if let Some(observer) = self.observer() {
            observer.driving(all.len());
        }
        drop(all);
        Ok(Seat {
            inner: Arc::clone(self),
            run: run.clone(),
            live,
        })
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
        let Loaded {
            mut run,
            bytes,
            entries,
            ..
        } = self.load(id).await?;
        if run.outcome.is_some() {
            return Err(over(&run));
        }
        if let Some(observer) = self.observer() {
            observer.learnt(&run, &entries);
        }
        let mut ledger = self.ledger(run.seq, bytes);
        ledger.held = true;
        let by = self.options.name.clone();
        ledger.record(&mut run, Event::Resumed { by })?;
        Ok((run, ledger))
    }

    /// Drives a run and lets go of it. Tells whether somebody may have answered meanwhile who was
    /// told that it is driven.
    async fn drive(
        self: &Arc<Self>,
        seat: &Seat,
        run: Run,
        ledger: Ledger,
    ) -> Result<(Ended, bool), Fault> {
        let live = Arc::clone(&seat.live);
        let driver = Driver::new(Arc::clone(self), run, ledger, live);
        let (ended, rest) = driver.drive().await;
        // Usually the claim went back with the last event.
        if rest.held {
            self.store.release(&seat.run).await?;
        }
        let ended = ended?;
        if matches!(ended, Ended::Finished(_)) && rest.run.started.intent.is_some() {
            Box::pin(self.learn(&rest.run)).await;
        }
        if matches!(ended, Ended::Paused(_)) && rest.is_durable {
            self.warm.put(rest.run, rest.bytes);
        }
        Ok((ended, rest.held))
    }

    /// Whether a run that paused has been answered while its driver was letting go.
    async fn is_answered(&self, run: &RunId) -> Result<bool, Fault> {
        let row = self.store.row(run).await?;
        Ok(row.is_some_and(|row| row.head.status == Status::Running && !row.driven))
    }

    /// A paused run with answers, to be driven on: nothing is written yet. Nothing is given if the
    /// run does not wait for answers alone.
    async fn answered(
        &self,
        id: &RunId,
        said: &[Said],
        decided: &mut Vec<Decision>,
    ) -> Result<Option<(Run, Ledger)>, Fault> {
        let fits = |run: &Run| said.iter().all(|said| run.pauses.contains_key(&said.pause));
        let copy = self.warm.take(id).filter(|(run, _)| fits(run));
        let (mut run, bytes) = match copy {
            Some(copy) => copy,
            None => {
                let Loaded {
                    run,
                    bytes,
                    entries,
                    ..
                } = self.load(id).await?;
                if let Some(observer) = self.observer() {
                    observer.learnt(&run, &entries);
                }
                (run, bytes)
            }
        };
        if run.outcome.is_some() {
            return Err(over(&run));
        }
        for said in said {
            let pause = run.pauses.get(&said.pause);
            let pause = pause.ok_or_else(|| stale(&run, said.pause))?;
            let ruled = self.authorize(&run, (said.pause, pause), &said.answer, &said.by);
            let asked = Checkpoint {
                run: run.id.clone(),
                seq: said.pause,
            };
            let decision = Decision::about(&run, &asked, &said.answer);
            let by = (said.by.name.as_str(), said.by.channel);
            let why = said.why.as_deref();
            decided.extend(decision.map(|one| one.said(by, why, ruled.as_ref().err())));
            ruled?;
        }
        // Whose time is over is looked at closely by who ends it.
        let is_due = run.expires_ms().is_some_and(|due| due <= clock::now_ms());
        if is_due || !run.is_paused() {
            return Ok(None);
        }
        let mut ledger = self.ledger(run.seq, bytes);
        let by = self.options.name.clone();
        ledger.record(&mut run, Event::Resumed { by })?;
        for said in said {
            let Said {
                pause,
                answer,
                by,
                why,
            } = said.clone();
            let event = Event::Answered {
                pause,
                answer,
                by: by.name,
                why,
                via: Some(by.channel),
            };
            ledger.say(&mut run, event)?;
        }
        Ok(Some((run, ledger)))
    }
}

impl Engine {
    /// Takes a run over and drives it on: after a crash, after an answer, after a stop.
    pub async fn resume(&self, id: &RunId) -> Result<Handle, Fault> {
        self.steerable(id).await?;
        let seat = self.seat_soon(id).await?;
        let (run, ledger) = self.0.take_over(id).await?;
        Ok(self.spawn(seat, run, ledger))
    }

    /// Answers what a run asks and drives it on, in one go. The first answer counts: whose comes
    /// too late hears so here or from the handle. Gives no handle if another drives the run, who
    /// then hears the answers, or has brought it to its end with them.
    ///
    /// Nothing that may not be repeated happens before the answers are durable.
    pub async fn go_on_with(&self, id: &RunId, said: Vec<Said>) -> Result<Option<Handle>, Fault> {
        let said = self.checked_said(id, said).await?;
        let said = self.discreet_said(said).await;
        match self.seat_soon(id).await {
            Ok(seat) => match self.heard_answers(id, &said).await? {
                Some((run, ledger)) => {
                    seat.live.speech.send_replace(Speech::Pending);
                    return Ok(Some(self.spawn(seat, run, ledger)));
                }
                None => drop(seat),
            },
            Err(Fault::Elsewhere { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let has_answered = !said.is_empty();
        for Said {
            pause: seq,
            answer,
            by,
            why,
        } in said
        {
            let run = id.clone();
            self.answer(&Checkpoint { run, seq }, answer, by, why)
                .await?;
        }
        match self.resume(id).await {
            Ok(handle) => Ok(Some(handle)),
            Err(Fault::Elsewhere { .. }) => Ok(None),
            // Who heard the answers was quicker. They count, so they did not come too late.
            Err(Fault::Over { .. }) if has_answered => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// A paused run with answers, which are in the audit whether they were taken or refused.
    async fn heard_answers(
        &self,
        id: &RunId,
        said: &[Said],
    ) -> Result<Option<(Run, Ledger)>, Fault> {
        let mut decided = Vec::new();
        let came = self.0.answered(id, said, &mut decided).await;
        // Where the run is not waiting for answers alone, they are put to it in another way.
        if !matches!(came, Ok(None)) {
            for decision in decided {
                self.decided(decision).await?;
            }
        }
        came
    }

    /// The seat of a run, as soon as who has let go of it has left.
    async fn seat_soon(&self, id: &RunId) -> Result<Seat, Fault> {
        loop {
            let live = self.0.live().get(id).cloned();
            if !live.is_some_and(|live| live.leaves.load(Ordering::Acquire)) {
                return self.0.seat(id);
            }
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn spawn(&self, seat: Seat, run: Run, ledger: Ledger) -> Handle {
        if !self.0.watched.swap(true, Ordering::AcqRel) {
            tokio::spawn(lookout::watch(Arc::downgrade(&self.0)));
        }
        let id = run.id.clone();
        let (inner, live) = (Arc::clone(&self.0), Arc::clone(&seat.live));
        // Children of one step are begun together: each is driven by itself from the start, so that
        // they share their syncs.
        let is_child = run.started.parent.is_some();
        let drives = self.0.tasks.track_future(async move {
            let parent = run.started.parent.clone();
            let mut ended = inner.drive(&seat, run, ledger).await;
            // Who answered before we let go was told that the run goes on.
            while let Ok((Ended::Paused(pauses), held)) = &ended {
                // In boxes what is rare: every run has room for all that may happen here.
                let settled = Box::pin(inner.settle_children(&seat.run, pauses)).await?;
                let goes_on = settled || *held && inner.is_answered(&seat.run).await?;
                if !goes_on {
                    break;
                }
                match Box::pin(inner.take_over(&seat.run)).await {
                    Ok((run, ledger)) => {
                        ended = Box::pin(inner.drive(&seat, run, ledger)).await;
                    }
                    Err(Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. }) => {
                        break;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            seat.live.leaves.store(true, Ordering::Release);
            let ended = ended.map(|(ended, _)| ended);
            if let (Ok(Ended::Finished(_)), Some(parent)) = (&ended, parent) {
                Box::pin(inner.wake_parent(&seat.run, &parent.run)).await;
            }
            ended
        });
        let driving = match is_child {
            true => Driving::Task(tokio::spawn(drives)),
            false => Driving::begin(Box::pin(drives)),
        };
        Handle {
            run: id,
            driving,
            live,
        }
    }
}
