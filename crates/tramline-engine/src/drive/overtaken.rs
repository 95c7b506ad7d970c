//! What a driver does when its append was refused because somebody else's came first.
//!
//! As long as the claim is ours, others can only have spoken: answered, patched, ended the run. Then
//! what we know of our own calls is recorded again, each event for the very step it was made for.
//! In every other case our plan was made on a copy that is behind: it is thrown away, and the run
//! is taken over like any other.

use super::Driver;
use crate::engine::{Engine, over};
use crate::fault::Fault;
use crate::seams::Claim;
use std::collections::BTreeSet;
use tramline_core::ids::StepNo;
use tramline_core::journal::{Entry, Event, Pause};
use tramline_core::run::{Run, Stage};

/// Whether an event is a word to a run, which anybody may append. All others come from who drives
/// it.
pub(super) fn is_word(event: &Event) -> bool {
    match event {
        Event::Answered { .. }
        | Event::Watched { .. }
        | Event::Amended { .. }
        | Event::Finished { .. } => true,
        Event::Started(_)
        | Event::Resumed { .. }
        | Event::StepStarted { .. }
        | Event::Spread { .. }
        | Event::Gathered { .. }
        | Event::Waiting { .. }
        | Event::AttemptFailed { .. }
        | Event::StepFinished { .. }
        | Event::StepFailed { .. }
        | Event::Paused { .. }
        | Event::Guided(_)
        | Event::Moved(_)
        | Event::Noted(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Refused(_) => false,
    }
}

impl Driver {
    /// Goes on after others' events came before ours.
    pub(super) async fn overtaken(&mut self) -> Result<(), Fault> {
        let seen = self.ledger.durable;
        if !self.ledger.held {
            return self.start_over().await;
        }
        let loaded = self.inner.load(&self.run.id).await?;
        let (before, theirs) = loaded.entries.split_at(seen as usize);
        if !theirs.iter().all(|entry| is_word(&entry.event)) {
            return self.start_over().await;
        }
        let before = Engine::of(self.inner.clone()).fold(&self.run.id, before)?;
        let ours = self.ledger.discard();
        self.learnt(theirs);
        self.stand(loaded.run, loaded.bytes);
        self.record_again(&before, ours)
    }

    /// Takes the run as its journal has it.
    fn stand(&mut self, run: Run, bytes: u64) {
        self.run = run;
        self.ledger.durable = self.run.seq;
        self.ledger.bytes = bytes;
        self.held.clear();
        self.preparing.clear();
        self.judged.clear();
        self.deadline = None;
    }

    /// Records again what nobody would think of again: that we took the run over, what came back
    /// from calls, further attempts of steps that stay open. What only computed is recomputed.
    ///
    /// `before` is the run that our events were made for. An event counts only for a step that
    /// stands there exactly as it stands now: the same node, attempt, item and stage.
    fn record_again(&mut self, before: &Run, ours: Vec<Entry>) -> Result<(), Fault> {
        let same = |(step, open): &(&StepNo, _)| self.run.open.get(step) == Some(*open);
        let untouched: BTreeSet<StepNo> = before
            .open
            .iter()
            .filter(same)
            .map(|(step, _)| *step)
            .collect();
        let mut announced = Vec::new();
        for Entry { event, .. } in ours {
            let (step, is_attempt) = match &event {
                Event::Resumed { .. } if self.run.outcome.is_none() => (None, false),
                Event::Answered { pause, .. } => {
                    self.still_asked(*pause)?;
                    (None, false)
                }
                Event::StepStarted { step, .. } => (Some(*step), true),
                Event::StepFinished { step, .. }
                | Event::StepFailed { step, .. }
                | Event::AttemptFailed { step, .. }
                | Event::Paused {
                    pause: Pause::InDoubt { step, .. } | Pause::Child { step, .. },
                } => (Some(*step), false),
                Event::Started(_)
                | Event::Resumed { .. }
                | Event::Spread { .. }
                | Event::Gathered { .. }
                | Event::Waiting { .. }
                | Event::Paused { .. }
                | Event::Watched { .. }
                | Event::Amended { .. }
                | Event::Guided(_)
                | Event::Moved(_)
                | Event::Noted(_)
                | Event::ToolCalled(_)
                | Event::ToolAnswered(_)
                | Event::Refused(_)
                | Event::Finished { .. } => continue,
            };
            // An item that failed may have closed the others.
            let is_theirs = |step| !untouched.contains(&step) || !self.run.open.contains_key(&step);
            if step.is_some_and(is_theirs) {
                continue;
            }
            let seq = self.ledger.record(&mut self.run, event)?;
            announced.extend(step.filter(|_| is_attempt).map(|step| (step, seq)));
        }
        // Among what was recorded again may be ends of calls that may not be repeated.
        self.settled_at = self.run.seq;
        self.forget_closed();
        self.set_alarms();
        for (step, seq) in announced {
            let open = self.run.open.get(&step);
            let waits = open.is_some_and(|open| open.stage == Stage::Calling);
            if waits && !self.calls.contains_key(&step) {
                self.call(step, seq)?;
            }
        }
        Ok(())
    }

    /// Throws a plan away that was made on a copy which is behind, and takes the run over like any
    /// other: first the claim, then the journal. Answers that we brought are given again, or, while
    /// another process drives the run, left in its journal for that one to hear.
    pub(super) async fn start_over(&mut self) -> Result<(), Fault> {
        let is_answer = |entry: &Entry| matches!(entry.event, Event::Answered { .. });
        let ours = self.ledger.discard().into_iter();
        let mut answers: Vec<Event> = ours.filter(is_answer).map(|entry| entry.event).collect();
        // None that may not be repeated has left: its announcement would be in the journal.
        self.abandon_calls();
        self.ledger.held = false;
        let mut claimed = self.inner.store.claim(&self.run.id).await?;
        if matches!(claimed, Claim::Elsewhere { .. }) && !answers.is_empty() {
            let engine = Engine::of(self.inner.clone());
            Box::pin(engine.leave_word(&self.run.id, std::mem::take(&mut answers))).await?;
            self.live.heard(crate::engine::Speech::Heard);
            // Who drove it may have let go in between, without hearing of them.
            claimed = self.inner.store.claim(&self.run.id).await?;
        }
        if let Claim::Elsewhere { owner } = claimed {
            let run = self.run.id.clone();
            return Err(Fault::Elsewhere { run, owner });
        }
        self.ledger.held = true;
        let loaded = self.inner.load(&self.run.id).await?;
        self.learnt(&loaded.entries);
        self.stand(loaded.run, loaded.bytes);
        self.put_off.clear();
        self.settled_at = self.run.seq;
        if self.run.outcome.is_some() {
            return match answers.is_empty() {
                true => Ok(()),
                false => Err(over(&self.run)),
            };
        }
        let by = self.inner.options.name.clone();
        self.ledger.record(&mut self.run, Event::Resumed { by })?;
        for answer in answers {
            if let Event::Answered { pause, .. } = &answer {
                self.still_asked(*pause)?;
            }
            self.ledger.say(&mut self.run, answer)?;
        }
        self.settled_at = self.run.seq;
        self.set_alarms();
        Ok(())
    }

    /// Gives up all calls. They get the time to tell their servers, without anybody waiting.
    pub(super) fn abandon_calls(&mut self) {
        for (_, call) in self.calls.drain() {
            call.cancel.cancel();
        }
        if self.under_way.is_empty() {
            return;
        }
        let mut rest = std::mem::take(&mut self.under_way);
        let grace = self.inner.options.cancel_grace;
        self.inner.tasks.spawn(async move {
            let _ =
                tokio::time::timeout(grace, async { while rest.next().await.is_some() {} }).await;
        });
    }
}
