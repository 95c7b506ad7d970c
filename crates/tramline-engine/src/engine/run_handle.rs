//! Ownership of a run: one driver in this process, one process among all.

use super::expiry::ended_fault;
use super::inline_poll::DriverTask;
use super::{ActiveRun, AnswerState, Engine, EngineInner, LoadedRun, Respondent, stale_checkpoint};
use crate::audit::AuditDecision;
use crate::change_watcher;
use crate::clock;
use crate::driver::{DriveOutcome, Driver};
use crate::fault::Fault;
use crate::journal_writer::JournalWriter;
use crate::ports::{Claim, Epoch, RunStatus};
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Event, RunEvent};
use tramline_workflow::run::Run;

/// How often the release of a claim is tried again while the store fails.
const RELEASE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// A run that this process drives.
pub struct RunHandle {
    /// The id of the run.
    pub run: RunId,
    task: DriverTask,
    active: Arc<ActiveRun>,
}

impl RunHandle {
    /// A run whose driver starts in a task.
    pub(crate) fn queued(
        run: RunId,
        drives: impl Future<Output = Result<DriveOutcome, Fault>> + Send + 'static,
    ) -> Self {
        Self {
            run,
            task: DriverTask::Task(tokio::spawn(drives)),
            active: Arc::default(),
        }
    }

    /// Waits until the answers it was started with are durable, or fails if they came too late. The
    /// run continues in the meantime.
    pub async fn answers_recorded(self) -> Result<Self, Fault> {
        match self.active.wait_answer_state().await {
            AnswerState::None | AnswerState::Recorded | AnswerState::Pending => Ok(self),
            AnswerState::Lost => match self.wait().await {
                Err(fault) => Err(fault),
                Ok(_) => Err(Fault::Rejected(
                    "the run ended before the answer was recorded".into(),
                )),
            },
        }
    }

    /// Waits until the run ends or pauses. Also returns the run as its driver left it, so that a
    /// reply about it need not read its journal.
    pub async fn wait_for_run(self) -> Result<(DriveOutcome, Option<Arc<Run>>), Fault> {
        let active = Arc::clone(&self.active);
        let ended = self.wait().await?;
        let last = active.last_state().take();
        Ok((ended, last))
    }

    /// Waits until the run ends or pauses. Dropping the handle does not stop the run.
    pub async fn wait(self) -> Result<DriveOutcome, Fault> {
        let died = match self.task {
            DriverTask::Done(ended) => return ended,
            DriverTask::Panicked => "it panicked".to_owned(),
            DriverTask::Task(task) => match task.await {
                Ok(ended) => return ended,
                Err(died) => died.to_string(),
            },
        };
        let run = &self.run;
        Err(Fault::Rejected(format!(
            "the driver of {run} died: {died}; resume the run"
        )))
    }
}

/// The exclusive right to drive a run in this process; released on drop.
pub(super) struct DriveSlot {
    inner: Arc<EngineInner>,
    run: RunId,
    active: Arc<ActiveRun>,
}

impl Drop for DriveSlot {
    fn drop(&mut self) {
        let driven = {
            let mut live = self.inner.active_runs();
            live.remove(&self.run);
            live.len()
        };
        if let Some(observer) = self.inner.observer() {
            observer.on_driven_runs(driven);
        }
        self.active.set_answer_state(AnswerState::Lost);
    }
}

/// An answer to a pause of a run.
#[derive(Clone, Debug)]
pub struct PauseAnswer {
    /// The sequence number of the pause.
    pub pause: Seq,
    /// The answer.
    pub answer: Answer,
    /// The respondent.
    pub by: Respondent,
    /// The reason, if one is given.
    pub why: Option<String>,
}

impl EngineInner {
    /// Takes the right to drive a run, unless another driver in this process has it.
    pub(super) fn take_drive_slot(self: &Arc<Self>, run: &RunId) -> Result<DriveSlot, Fault> {
        let mut all = self.active_runs();
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
            observer.on_driven_runs(all.len());
        }
        drop(all);
        Ok(DriveSlot {
            inner: Arc::clone(self),
            run: run.clone(),
            active: live,
        })
    }

    /// Claims a run among all processes and folds it so that it can be driven.
    async fn claim_and_fold(&self, id: &RunId) -> Result<(Run, JournalWriter), Fault> {
        let epoch = match self.store.claim(id).await? {
            Claim::Held(epoch) => epoch,
            Claim::Elsewhere { owner } => {
                let run = id.clone();
                return Err(Fault::Elsewhere { run, owner });
            }
        };
        match self.fold_to_drive(id, epoch).await {
            Ok(taken) => Ok(taken),
            Err(fault) => {
                self.store.release(id).await?;
                Err(fault)
            }
        }
    }

    async fn fold_to_drive(&self, id: &RunId, epoch: Epoch) -> Result<(Run, JournalWriter), Fault> {
        let LoadedRun {
            mut run,
            bytes,
            entries,
            ..
        } = self.load(id).await?;
        if run.outcome.is_some() {
            return Err(ended_fault(&run));
        }
        if let Some(observer) = self.observer() {
            observer.on_replay(&run, &entries);
        }
        let mut ledger = self.journal_writer(run.seq, bytes);
        ledger.claim = Some(epoch);
        let by = self.options.process_name.clone();
        ledger.record(&mut run, Event::Run(RunEvent::Resumed { by }))?;
        Ok((run, ledger))
    }

    /// Drives a run and releases it. Also returns whether an answer may have been appended in the
    /// meantime by a writer that saw the run as driven.
    async fn drive(
        self: &Arc<Self>,
        seat: &DriveSlot,
        run: Run,
        ledger: JournalWriter,
    ) -> Result<(DriveOutcome, bool), Fault> {
        let live = Arc::clone(&seat.active);
        let driver = Driver::new(Arc::clone(self), run, ledger, live);
        let (ended, rest) = driver.drive().await;
        // Usually the claim was released with the last event.
        if rest.is_claimed
            && let Err(fault) = self.store.release(&seat.run).await
        {
            self.release_later(seat.run.clone());
            return Err(ended.err().unwrap_or_else(|| fault.into()));
        }
        let ended = ended?;
        if matches!(ended, DriveOutcome::Finished(_)) {
            Box::pin(self.notify_end(&rest.run)).await;
        }
        if rest.is_durable {
            let run = Arc::new(rest.run);
            if matches!(ended, DriveOutcome::Paused(_)) {
                self.paused_runs.put(Arc::clone(&run), rest.bytes);
            }
            *seat.active.last_state() = Some(run);
        }
        Ok((ended, rest.is_claimed))
    }

    /// Releases a run once the store can be reached again: until then it has no driver, and no other process may
    /// take it.
    fn release_later(self: &Arc<Self>, run: RunId) {
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(RELEASE_RETRY_DELAY) => {}
                    () = inner.stop.cancelled() => return,
                }
                if inner.active_runs().contains_key(&run) || inner.store.release(&run).await.is_ok()
                {
                    return;
                }
            }
        });
    }

    /// Whether a paused run was answered while its driver released it.
    async fn is_answered(&self, run: &RunId) -> Result<bool, Fault> {
        let row = self.store.row(run).await?;
        Ok(row.is_some_and(|row| row.index_row.status == RunStatus::Running && !row.driven))
    }

    /// A paused run with answers applied, ready to be driven: nothing is written yet. `None` if the
    /// run waits for anything other than these answers.
    async fn apply_answers(
        &self,
        id: &RunId,
        loaded: Option<LoadedRun>,
        said: &[PauseAnswer],
        decided: &mut Vec<AuditDecision>,
    ) -> Result<Option<(Run, JournalWriter)>, Fault> {
        let fits = |run: &Run| said.iter().all(|said| run.pauses.contains_key(&said.pause));
        let copy = self.paused_runs.take(id).filter(|(run, _)| fits(run));
        let (mut run, bytes) = match copy {
            Some(copy) => copy,
            None => {
                let LoadedRun {
                    run,
                    bytes,
                    entries,
                    ..
                } = match loaded {
                    Some(loaded) => loaded,
                    None => self.load(id).await?,
                };
                if let Some(observer) = self.observer() {
                    observer.on_replay(&run, &entries);
                }
                (run, bytes)
            }
        };
        let late = |said: &PauseAnswer, fault: &Fault| {
            let asked = Checkpoint {
                run: id.clone(),
                seq: said.pause,
            };
            let by = (said.by.name.as_str(), said.by.channel);
            AuditDecision::about_no_pause(&asked, &said.answer).with_result(
                by,
                said.why.as_deref(),
                Some(fault),
            )
        };
        if run.outcome.is_some() {
            let fault = ended_fault(&run);
            decided.extend(said.iter().map(|said| late(said, &fault)));
            return Err(fault);
        }
        for said in said {
            let Some(pause) = run.pauses.get(&said.pause) else {
                let fault = stale_checkpoint(&run, said.pause);
                decided.push(late(said, &fault));
                return Err(fault);
            };
            let ruled = self.authorize(&run, (said.pause, pause), &said.answer, &said.by);
            let asked = Checkpoint {
                run: run.id.clone(),
                seq: said.pause,
            };
            let decision = AuditDecision::about_pause(&run, &asked, &said.answer);
            let by = (said.by.name.as_str(), said.by.channel);
            let why = said.why.as_deref();
            decided.extend(decision.map(|one| one.with_result(by, why, ruled.as_ref().err())));
            ruled?;
        }
        // Expiry is checked in full where the run is ended.
        let is_due = run.expires_ms().is_some_and(|due| due <= clock::now_ms());
        if is_due || !run.is_paused() {
            return Ok(None);
        }
        let mut ledger = self.journal_writer(run.seq, bytes);
        let by = self.options.process_name.clone();
        ledger.record(&mut run, Event::Run(RunEvent::Resumed { by }))?;
        for said in said {
            let PauseAnswer {
                pause,
                answer,
                by,
                why,
            } = said.clone();
            let event = Event::Run(RunEvent::Answered {
                pause,
                answer,
                by: by.name,
                why,
                via: Some(by.channel),
            });
            ledger.record_command(&mut run, event)?;
        }
        Ok(Some((run, ledger)))
    }
}

impl Engine {
    /// Claims a run and drives it: after a crash, an answer or a stop.
    pub async fn resume(&self, id: &RunId) -> Result<RunHandle, Fault> {
        self.check_not_expired(id).await?;
        self.check_environment(id).await?;
        let seat = self.wait_for_drive_slot(id).await?;
        let (run, ledger) = self.0.claim_and_fold(id).await?;
        Box::pin(self.audit_run_change(id, None)).await?;
        Box::pin(self.audit_effect()).await;
        Ok(self.spawn_driver(seat, run, ledger))
    }

    /// Answers pauses of a run and drives it in one call. The first answer counts: an answer that
    /// comes too late fails here or at the handle. Returns no handle if another process drives the
    /// run; that process then handles the answers, or has already ended the run with them.
    ///
    /// No non-repeatable call is sent before the answers are durable.
    pub async fn answer_and_resume(
        &self,
        id: &RunId,
        said: Vec<PauseAnswer>,
    ) -> Result<Option<RunHandle>, Fault> {
        self.answer_with(id, None, said).await
    }

    /// The same for a run that the caller has just loaded: its journal is not read again. If
    /// something was appended since, the driver reads that.
    pub async fn answer_loaded(
        &self,
        loaded: LoadedRun,
        said: Vec<PauseAnswer>,
    ) -> Result<Option<RunHandle>, Fault> {
        let id = loaded.run.id.clone();
        self.answer_with(&id, Some(loaded), said).await
    }

    async fn answer_with(
        &self,
        id: &RunId,
        loaded: Option<LoadedRun>,
        said: Vec<PauseAnswer>,
    ) -> Result<Option<RunHandle>, Fault> {
        let said = self.check_form_answers(id, said).await?;
        let said = self.check_edited_answers(id, said).await?;
        let said = self.redact_answers(said).await;
        self.end_abandoned_children(id, &said).await?;
        if self.is_foreign(id, loaded.as_ref()).await? {
            self.record_answers(id, said).await?;
            self.hand_over(id);
            return Ok(None);
        }
        match self.wait_for_drive_slot(id).await {
            Ok(seat) => match self.apply_and_audit_answers(id, loaded, &said).await? {
                Some((run, ledger)) => {
                    seat.active.answers.send_replace(AnswerState::Pending);
                    return Ok(Some(self.spawn_driver(seat, run, ledger)));
                }
                None => drop(seat),
            },
            Err(Fault::Elsewhere { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let has_answered = !said.is_empty();
        self.record_answers(id, said).await?;
        match self.resume(id).await {
            Ok(handle) => Ok(Some(handle)),
            Err(Fault::Elsewhere { .. }) => Ok(None),
            // Another driver has already handled the answers. They count, so they were not late.
            Err(Fault::Ended { .. }) if has_answered => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Writes answers into a journal for the process that drives the run.
    async fn record_answers(&self, id: &RunId, said: Vec<PauseAnswer>) -> Result<(), Fault> {
        for PauseAnswer {
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
        Ok(())
    }

    /// A paused run with answers. The audit records them whether they are accepted or rejected.
    async fn apply_and_audit_answers(
        &self,
        id: &RunId,
        loaded: Option<LoadedRun>,
        said: &[PauseAnswer],
    ) -> Result<Option<(Run, JournalWriter)>, Fault> {
        let mut decided = Vec::new();
        let came = self.0.apply_answers(id, loaded, said, &mut decided).await;
        // If the run waits for anything else, the answers are appended on another path.
        if !matches!(came, Ok(None)) {
            for decision in decided {
                self.audit_decision(decision).await?;
            }
        }
        if let Ok(Some(_)) = &came {
            // Before the driver writes the answers and makes the next call.
            Box::pin(self.audit_run_change(id, None)).await?;
            Box::pin(self.audit_effect()).await;
        }
        came
    }

    /// Takes the right to drive a run as soon as the driver that released it has exited.
    async fn wait_for_drive_slot(&self, id: &RunId) -> Result<DriveSlot, Fault> {
        loop {
            let live = self.0.active_runs().get(id).cloned();
            if !live.is_some_and(|live| live.is_exiting.load(Ordering::Acquire)) {
                return self.0.take_drive_slot(id);
            }
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn spawn_driver(
        &self,
        seat: DriveSlot,
        run: Run,
        ledger: JournalWriter,
    ) -> RunHandle {
        if !self.0.is_watching.swap(true, Ordering::AcqRel) {
            tokio::spawn(change_watcher::watch_changes(Arc::downgrade(&self.0)));
        }
        let id = run.id.clone();
        let (inner, live) = (Arc::clone(&self.0), Arc::clone(&seat.active));
        // Children of one step start together: each gets its own task from the start, so that they
        // share disk syncs.
        let is_child = run.started.parent.is_some();
        let drives = self.0.tasks.track_future(async move {
            let parent = run.started.parent.clone();
            let mut ended = inner.drive(&seat, run, ledger).await;
            // A writer that answered before the release expects the run to continue.
            while let Ok((DriveOutcome::Paused(pauses), held)) = &ended {
                // Boxed because they are rare: every run reserves space for all futures in here.
                let settled = Box::pin(inner.answer_ended_children(&seat.run, pauses)).await?;
                let goes_on = settled || *held && inner.is_answered(&seat.run).await?;
                if !goes_on {
                    break;
                }
                match Box::pin(inner.claim_and_fold(&seat.run)).await {
                    Ok((run, ledger)) => {
                        ended = Box::pin(inner.drive(&seat, run, ledger)).await;
                    }
                    Err(Fault::Elsewhere { .. } | Fault::Ended { .. } | Fault::Expired { .. }) => {
                        break;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            seat.active.is_exiting.store(true, Ordering::Release);
            let ended = ended.map(|(ended, _)| ended);
            if let (Ok(DriveOutcome::Finished(_)), Some(parent)) = (&ended, parent) {
                Box::pin(inner.wake_parent(&seat.run, &parent.run)).await;
            }
            ended
        });
        let driving = match is_child {
            true => DriverTask::Task(tokio::spawn(drives)),
            false => DriverTask::poll_then_spawn(Box::pin(drives)),
        };
        RunHandle {
            run: id,
            task: driving,
            active: live,
        }
    }
}
