//! Events of other writers in a run that is being driven: answers, patches, aborts.

use super::Driver;
use crate::engine::{ended_fault, stale_checkpoint};
use crate::fault::Fault;
use crate::journal_writer::damaged_journal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::Entry;

/// Time that a driver that never waits runs before it pauses for writers in other processes.
const BUSY_BEFORE_YIELD_MAX: Duration = Duration::from_millis(500);
/// Length of that pause.
const YIELD_PAUSE: Duration = Duration::from_millis(10);
/// Longest time that it yields to a writer in this process: long enough to fold a long journal. A
/// writer that is done ends the wait early.
const YIELD_MAX: Duration = Duration::from_secs(2);

/// Longest time that a run is driven inline in the task that started it: its caller waits
/// meanwhile.
const INLINE_MAX: Duration = Duration::from_millis(2);

impl Driver {
    /// Moves on to its own task once it has been driven inline for long.
    pub(super) async fn yield_to_runtime(&mut self) {
        if self
            .inline_since
            .take_if(|since| since.elapsed() >= INLINE_MAX)
            .is_some()
        {
            tokio::task::yield_now().await;
        }
    }

    /// Lets other writers append, if one is waiting or none could for a while.
    pub(super) async fn yield_to_writers(&mut self) -> Result<(), Fault> {
        if !self.journal.is_settled() {
            return Ok(());
        }
        let wanted = self.active.waiting_writers.load(Ordering::Acquire) > 0;
        if !wanted && self.busy_since.elapsed() < BUSY_BEFORE_YIELD_MAX {
            return Ok(());
        }
        let patience = if wanted { YIELD_MAX } else { YIELD_PAUSE };
        let live = Arc::clone(&self.active);
        let woken = tokio::time::timeout(patience, live.wakeup.notified());
        let _ = self.in_flight.poll_while(woken).await;
        self.busy_since = Instant::now();
        self.merge_foreign_events().await
    }

    /// Reads and applies what other writers appended, if anything.
    pub(super) async fn merge_foreign_events(&mut self) -> Result<(), Fault> {
        // A batch that is being sent, or sent next, either conflicts with their events or comes
        // first.
        self.has_foreign_events = !self.journal.is_settled();
        if self.has_foreign_events {
            return Ok(());
        }
        let read = self.inner.read_events(&self.run.id, self.journal.durable);
        let (entries, bytes) = self.in_flight.poll_while(read).await?;
        if !entries.iter().all(|entry| entry.event.is_command()) {
            return self.reload_run().await;
        }
        for entry in &entries {
            self.run
                .apply(entry)
                .map_err(|illegal| damaged_journal(&self.run, &illegal))?;
            self.journal.durable = entry.seq;
        }
        self.report_foreign_events(&entries);
        self.journal.bytes += bytes;
        self.cancel_closed_calls();
        Ok(())
    }

    /// Reports the events of other writers to the observer, if there is one.
    pub(super) fn report_foreign_events(&self, entries: &[Entry]) {
        if let Some(observer) = self.inner.observer() {
            observer.on_replay(&self.run, entries);
        }
    }

    /// Rejects an answer of ours if another one came first.
    pub(super) fn check_still_pending(&self, pause: Seq) -> Result<(), Fault> {
        if self.run.outcome.is_some() {
            return Err(ended_fault(&self.run));
        }
        match self.run.pauses.contains_key(&pause) {
            true => Ok(()),
            false => Err(stale_checkpoint(&self.run, pause)),
        }
    }

    /// Cancels calls whose steps are no longer open.
    pub(super) fn cancel_closed_calls(&mut self) {
        self.calls.retain(|step, call| {
            let open = self.run.open_steps.contains_key(step);
            if !open {
                call.cancel.cancel();
            }
            open
        });
    }
}
