//! How a run stands for its driver: what must be sent now, when it rests, when it is over.

use super::{Driver, Ended};
use crate::engine::Speech;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_core::run::Run;

/// How long recorded events wait for more before they are sent, when nothing needs them sent.
pub(super) const PATIENCE: Duration = Duration::from_millis(5);

/// What a driver leaves behind.
pub(crate) struct Rest {
    /// The run as it stands.
    pub(crate) run: Run,
    /// The bytes of its journal.
    pub(crate) bytes: u64,
    /// Whether the claim on it is still to be given back.
    pub(crate) held: bool,
    /// Whether all of that is durable.
    pub(crate) is_durable: bool,
}

impl Driver {
    pub(super) fn tell_where_we_are(&self) {
        let live = &self.live;
        live.known.store(self.run.seq, Ordering::Release);
        if self.ledger.durable > 0 {
            live.kept.store(true, Ordering::Release);
        }
        if self.ledger.is_settled() {
            live.heard(Speech::Heard);
        }
    }

    /// Whether the run waits for nothing but answers.
    pub(super) fn is_at_rest(&self) -> bool {
        self.run.is_paused() && self.under_way.is_empty()
    }

    /// Whether what is recorded must be sent now. What only reads need not wait for the disk, so
    /// a run of such calls syncs once at its end, or whenever [`PATIENCE`] is over.
    pub(super) fn is_urgent(&mut self, decided: bool) -> bool {
        let asked_for = !decided
            || self.heard
            || self.stopping
            || !self.held.is_empty()
            || !self.run.pauses.is_empty()
            || self.run.outcome.is_some();
        if asked_for || !self.ledger.is_waiting() {
            return asked_for;
        }
        self.waiting_since
            .get_or_insert_with(Instant::now)
            .elapsed()
            >= PATIENCE
    }

    /// How the run stands, if there is nothing to wait for.
    pub(super) fn ended(&self) -> Option<Ended> {
        if let Some(outcome) = &self.run.outcome {
            return Some(Ended::Finished(outcome.clone()));
        }
        if self.stopping {
            return Some(Ended::Stopped);
        }
        self.is_at_rest().then(|| {
            Ended::Paused(
                self.run
                    .pauses
                    .iter()
                    .map(|(at, pause)| (*at, pause.clone()))
                    .collect(),
            )
        })
    }
}
