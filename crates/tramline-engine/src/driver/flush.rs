//! The driver's view of a run: what must be sent now, when it only waits, when it has ended.

use super::{DriveOutcome, Driver};
use crate::engine::AnswerState;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_workflow::run::Run;

/// Time that recorded events wait for more before they are sent, if nothing else needs them sent.
pub(super) const FLUSH_DELAY: Duration = Duration::from_millis(5);

/// What a driver returns.
pub(crate) struct DriveResult {
    /// The state of the run.
    pub(crate) run: Run,
    /// The size of its journal in bytes.
    pub(crate) bytes: u64,
    /// Whether the claim still has to be released.
    pub(crate) is_claimed: bool,
    /// Whether the state is durable.
    pub(crate) is_durable: bool,
}

impl Driver {
    pub(super) fn publish_progress(&self) {
        let live = &self.active;
        live.last_known.store(self.run.seq, Ordering::Release);
        if self.journal.durable > 0 {
            live.is_stored.store(true, Ordering::Release);
        }
        if self.journal.is_settled() {
            live.set_answer_state(AnswerState::Recorded);
        }
    }

    /// Whether the run waits for answers only.
    pub(super) fn is_waiting_for_answers(&self) -> bool {
        self.run.is_paused() && self.in_flight.is_empty()
    }

    /// Whether recorded events must be sent now. Read-only calls need not wait for the disk, so a
    /// run of such calls syncs once at its end, or whenever [`PATIENCE`] is over.
    pub(super) fn must_flush(&mut self, decided: bool) -> bool {
        let asked_for = !decided
            || self.has_foreign_events
            || self.stopping
            || !self.held_calls.is_empty()
            || !self.run.pauses.is_empty()
            || self.run.outcome.is_some();
        if asked_for || !self.journal.is_waiting() {
            return asked_for;
        }
        self.waiting_since
            .get_or_insert_with(Instant::now)
            .elapsed()
            >= FLUSH_DELAY
    }

    /// The state of the run, if there is nothing to wait for.
    pub(super) fn outcome(&self) -> Option<DriveOutcome> {
        if let Some(outcome) = &self.run.outcome {
            return Some(DriveOutcome::Finished(outcome.clone()));
        }
        if self.stopping {
            return Some(DriveOutcome::Stopped);
        }
        self.is_waiting_for_answers().then(|| {
            DriveOutcome::Paused(
                self.run
                    .pauses
                    .iter()
                    .map(|(at, pause)| (*at, pause.clone()))
                    .collect(),
            )
        })
    }
}
