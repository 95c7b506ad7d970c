//! Other people's words in a run that is being driven: answers, patches, aborts.

use super::Driver;
use crate::engine::{over, stale};
use crate::fault::Fault;
use crate::ledger::damaged;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_core::ids::Seq;
use tramline_core::journal::{Entry, Event};
use tramline_core::run::Stage;

/// A driver that never waits holds still so often, so that other processes are heard too.
const BUSY_MAX: Duration = Duration::from_millis(500);
/// How long it then holds still.
const STILL: Duration = Duration::from_millis(10);
/// How long at most it gives way to somebody in this process who wants to be heard: long enough to
/// fold a long past. Who is done says so.
const GIVE_WAY: Duration = Duration::from_secs(2);

/// How long a run is driven where it was begun, at most: who began it waits meanwhile.
const HERE_MAX: Duration = Duration::from_millis(2);

impl Driver {
    /// Goes on in a task of its own once it has driven for long where it was begun.
    pub(super) async fn leave_soon(&mut self) {
        if self
            .begun
            .take_if(|since| since.elapsed() >= HERE_MAX)
            .is_some()
        {
            tokio::task::yield_now().await;
        }
    }

    /// Lets others append, if anybody wants to or nobody could for a while.
    pub(super) async fn give_way(&mut self) -> Result<(), Fault> {
        if !self.ledger.is_settled() {
            return Ok(());
        }
        let wanted = self.live.wants.load(Ordering::Acquire) > 0;
        if !wanted && self.busy_since.elapsed() < BUSY_MAX {
            return Ok(());
        }
        let patience = if wanted { GIVE_WAY } else { STILL };
        let live = Arc::clone(&self.live);
        let _ = tokio::time::timeout(patience, live.word.notified()).await;
        self.busy_since = Instant::now();
        self.absorb().await
    }

    /// Reads what others appended since, if anything.
    pub(super) async fn absorb(&mut self) -> Result<(), Fault> {
        // What is being sent, or sent next, either meets their events and says so or comes first.
        self.heard = !self.ledger.is_settled();
        if self.heard {
            return Ok(());
        }
        let (entries, bytes) = self.inner.read(&self.run.id, self.ledger.durable).await?;
        for entry in &entries {
            self.run
                .apply(entry)
                .map_err(|illegal| damaged(&self.run, &illegal))?;
            self.ledger.durable = entry.seq;
        }
        self.learnt(&entries);
        self.ledger.bytes += bytes;
        self.forget_closed();
        Ok(())
    }

    /// Starts again from the journal as it is, after others' events came before ours.
    ///
    /// What only computed is recomputed. What nobody would think of again is recorded again: that
    /// we took the run over, what came back from calls, further attempts of steps that stay open.
    pub(super) async fn rebase(&mut self) -> Result<(), Fault> {
        let ours = self.ledger.discard();
        let loaded = self.inner.load(&self.run.id).await?;
        self.run = loaded.run;
        self.learnt(&loaded.entries);
        self.ledger.durable = self.run.seq;
        self.ledger.bytes = loaded.bytes;
        self.held.clear();
        self.preparing.clear();
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
                | Event::AttemptFailed { step, .. } => (Some(*step), false),
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
            if step.is_some_and(|step| !self.run.open.contains_key(&step)) {
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

    /// Tells the observer, if there is one, what others appended.
    fn learnt(&self, entries: &[Entry]) {
        if let Some(observer) = self.inner.observer() {
            observer.learnt(&self.run, entries);
        }
    }

    /// Refuses an answer that we brought if somebody else's came first.
    fn still_asked(&self, pause: Seq) -> Result<(), Fault> {
        if self.run.outcome.is_some() {
            return Err(over(&self.run));
        }
        match self.run.pauses.contains_key(&pause) {
            true => Ok(()),
            false => Err(stale(&self.run, pause)),
        }
    }

    /// Says that another process drives the run, or that it came first with an answer.
    pub(super) async fn shut_out(&mut self, owner: String) -> Result<(), Fault> {
        let ours = self.ledger.discard();
        self.run = self.inner.load(&self.run.id).await?.run;
        for entry in ours {
            if let Event::Answered { pause, .. } = entry.event {
                self.still_asked(pause)?;
            }
        }
        let run = self.run.id.clone();
        Err(Fault::Elsewhere { run, owner })
    }

    /// Cancels calls whose steps are not open any more.
    pub(super) fn forget_closed(&mut self) {
        self.calls.retain(|step, call| {
            let open = self.run.open.contains_key(step);
            if !open {
                call.cancel.cancel();
            }
            open
        });
    }
}
