//! Recovery of a driver whose append was rejected because another writer appended first.
//!
//! While the claim is ours, the other events are only commands: answers, patches, the end of the
//! run. Then the results of our own calls are recorded again, each for exactly the step it belongs
//! to. In every other case our state is stale: it is discarded, and the run is claimed and loaded
//! like any other.

use super::Driver;
use crate::engine::{Engine, ended_fault};
use crate::fault::Fault;
use crate::ports::Claim;
use std::collections::BTreeSet;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::{Entry, Event, EventRole, RunEvent};
use tramline_workflow::run::{Run, StepStage};

impl Driver {
    /// Continues after other writers' events came before ours.
    pub(super) async fn resolve_conflict(&mut self) -> Result<(), Fault> {
        let seen = self.journal.durable;
        if !self.journal.is_claimed() {
            return self.reload_run().await;
        }
        let load = self.inner.load(&self.run.id);
        let loaded = self.in_flight.poll_while(load).await?;
        let (before, theirs) = loaded.entries.split_at(seen as usize);
        if !theirs.iter().all(|entry| entry.event.is_command()) {
            return self.reload_run().await;
        }
        let before = Engine::from_inner(self.inner.clone()).fold(&self.run.id, before)?;
        let ours = self.journal.discard();
        self.report_foreign_events(theirs);
        self.adopt_run(loaded.run, loaded.bytes);
        self.record_again(&before, ours)
    }

    /// Adopts the run as its journal has it.
    fn adopt_run(&mut self, run: Run, bytes: u64) {
        self.run = run;
        self.journal.durable = self.run.seq;
        self.journal.bytes = bytes;
        self.held_calls.clear();
        self.preparing.clear();
        self.judgements.clear();
        self.settings_read.clear();
        self.deadline = None;
    }

    /// Records again what cannot be decided again: that we resumed the run, results of calls,
    /// further attempts of steps that stay open. Computed results are recomputed.
    ///
    /// `before` is the run that our events were made for. An event counts only for a step that is
    /// unchanged since: the same node, attempt, item and stage.
    fn record_again(&mut self, before: &Run, ours: Vec<Entry>) -> Result<(), Fault> {
        let same = |(step, open): &(&StepNo, _)| self.run.open_steps.get(step) == Some(*open);
        let untouched: BTreeSet<StepNo> = before
            .open_steps
            .iter()
            .filter(same)
            .map(|(step, _)| *step)
            .collect();
        let mut announced = Vec::new();
        for Entry { event, .. } in ours {
            let role = event.role();
            let is_kept = match role {
                Some(EventRole::TakeOver) => self.run.outcome.is_none(),
                Some(EventRole::StepStart { is_call, .. }) => is_call,
                Some(EventRole::AttemptFailed { .. }) => true,
                Some(EventRole::StepEnd { is_fan_in, .. }) => !is_fan_in,
                Some(EventRole::Pause { step }) => step.is_some(),
                Some(EventRole::Command) => match event.answered_pause() {
                    Some(pause) => self.check_still_pending(pause).map(|()| true)?,
                    None => false,
                },
                Some(EventRole::Start) | None => false,
            };
            let step = role.and_then(EventRole::step);
            // A failed item may have closed the others.
            let is_theirs =
                |step| !untouched.contains(&step) || !self.run.open_steps.contains_key(&step);
            if !is_kept || step.is_some_and(is_theirs) {
                continue;
            }
            let is_attempt = matches!(role, Some(EventRole::StepStart { .. }));
            let seq = self.journal.record(&mut self.run, event)?;
            announced.extend(step.filter(|_| is_attempt).map(|step| (step, seq)));
        }
        // The events recorded again may include results of non-repeatable calls.
        self.settled_at = self.run.seq;
        self.cancel_closed_calls();
        self.set_timers();
        for (step, seq) in announced {
            let open = self.run.open_steps.get(&step);
            let waits = open.is_some_and(|open| open.stage == StepStage::Calling);
            if waits && !self.calls.contains_key(&step) {
                self.send_or_hold(step, seq)?;
            }
        }
        Ok(())
    }

    /// Discards a stale state and takes the run over like any other: first the claim, then the
    /// journal. Our answers are applied again or, while another process drives the run, appended
    /// for that process.
    pub(super) async fn reload_run(&mut self) -> Result<(), Fault> {
        let is_answer = |entry: &Entry| entry.event.answered_pause().is_some();
        let ours = self.journal.discard().into_iter();
        let mut answers: Vec<Event> = ours.filter(is_answer).map(|entry| entry.event).collect();
        // No non-repeatable call has been sent: its start would be in the journal.
        self.abandon_calls();
        self.journal.claim = None;
        let mut claimed = self.inner.store.claim(&self.run.id).await?;
        if matches!(claimed, Claim::Elsewhere { .. }) && !answers.is_empty() {
            let engine = Engine::from_inner(self.inner.clone());
            Box::pin(engine.append_foreign_answers(&self.run.id, std::mem::take(&mut answers)))
                .await?;
            self.active
                .set_answer_state(crate::engine::AnswerState::Recorded);
            // The other driver may have released the run before it saw them.
            claimed = self.inner.store.claim(&self.run.id).await?;
        }
        match claimed {
            Claim::Held(epoch) => self.journal.claim = Some(epoch),
            Claim::Elsewhere { owner } => {
                let run = self.run.id.clone();
                return Err(Fault::Elsewhere { run, owner });
            }
        }
        let loaded = self.inner.load(&self.run.id).await?;
        self.report_foreign_events(&loaded.entries);
        self.adopt_run(loaded.run, loaded.bytes);
        self.deferred.clear();
        self.settled_at = self.run.seq;
        if self.run.outcome.is_some() {
            return match answers.is_empty() {
                true => Ok(()),
                false => Err(ended_fault(&self.run)),
            };
        }
        let by = self.inner.options.process_name.clone();
        self.journal
            .record(&mut self.run, Event::Run(RunEvent::Resumed { by }))?;
        for answer in answers {
            if let Some(pause) = answer.answered_pause() {
                self.check_still_pending(pause)?;
            }
            self.journal.record_command(&mut self.run, answer)?;
        }
        self.settled_at = self.run.seq;
        self.set_timers();
        Ok(())
    }

    /// Abandons all calls. They get time to notify their servers, but nothing waits for them.
    pub(super) fn abandon_calls(&mut self) {
        for (_, call) in self.calls.drain() {
            call.cancel.cancel();
        }
        if self.in_flight.is_empty() {
            return;
        }
        let mut rest = std::mem::take(&mut self.in_flight);
        let grace = self.inner.options.cancel_grace;
        self.inner.tasks.spawn(async move {
            let _ =
                tokio::time::timeout(grace, async { while rest.next().await.is_some() {} }).await;
        });
    }
}
