//! Other people's words in a run that is being driven: answers, patches, aborts.

use super::Driver;
use super::overtaken::is_word;
use crate::engine::{over, stale};
use crate::fault::Fault;
use crate::ledger::damaged;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_core::ids::Seq;
use tramline_core::journal::Entry;

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
        if !entries.iter().all(|entry| is_word(&entry.event)) {
            return self.start_over().await;
        }
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

    /// Tells the observer, if there is one, what others appended.
    pub(super) fn learnt(&self, entries: &[Entry]) {
        if let Some(observer) = self.inner.observer() {
            observer.learnt(&self.run, entries);
        }
    }

    /// Refuses an answer that we brought if somebody else's came first.
    pub(super) fn still_asked(&self, pause: Seq) -> Result<(), Fault> {
        if self.run.outcome.is_some() {
            return Err(over(&self.run));
        }
        match self.run.pauses.contains_key(&pause) {
            true => Ok(()),
            false => Err(stale(&self.run, pause)),
        }
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
