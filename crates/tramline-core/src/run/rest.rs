//! When a run is at work and when it rests: the clock of work, and whether anything can go on.

use super::{Run, Spread, Stage};
use crate::authority::BudgetSource;
use crate::journal::{Budget, Policy, Spent};

/// How long a run has been at work: time spent waiting for people does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Active {
    pub(super) before_ms: u64,
    pub(super) since_ms: Option<i64>,
}

impl Active {
    pub(super) fn since(at_ms: i64) -> Self {
        Self {
            before_ms: 0,
            since_ms: Some(at_ms),
        }
    }
}

impl Run {
    /// Starts and stops the clock of work: waiting for people or for the time is no work.
    pub(super) fn tick(&mut self, at_ms: i64) {
        // Most events leave something to do; the rest is looked at only when none is left.
        let works = !self.flow.ready.is_empty() && !self.between_layers() && self.stalled.is_none();
        if works || self.outcome.is_some() || !self.rests() {
            self.active.since_ms.get_or_insert(at_ms);
        } else if let Some(since) = self.active.since_ms.take() {
            self.active.before_ms += at_ms.saturating_sub(since).max(0) as u64;
        }
    }

    /// Whether its budget was asked about and nobody has answered yet.
    pub fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// Whether it waits for answers only.
    pub fn is_paused(&self) -> bool {
        self.outcome.is_none() && !self.pauses.is_empty() && self.verdict.is_none() && self.idle()
    }

    /// How long it has been at work until `now_ms`.
    pub fn active_ms(&self, now_ms: i64) -> u64 {
        let running = self
            .active
            .since_ms
            .map_or(0, |since| now_ms.saturating_sub(since).max(0));
        self.active.before_ms + running as u64
    }

    /// What is left of its budget, if it has one, after so much time at work and with so many bytes
    /// in its journal.
    pub fn budget_left(&self, active_ms: u64, bytes: u64) -> Option<Budget> {
        let left = self.started.budget.map(|_| self.caller_budget)?;
        Some(self.without_used(left, active_ms, bytes))
    }

    /// The same of the operator's budget.
    pub fn operator_budget_left(&self, active_ms: u64, bytes: u64) -> Option<Budget> {
        let left = self.started.operator_budget.map(|_| self.operator_budget)?;
        Some(self.without_used(left, active_ms, bytes))
    }

    fn without_used(&self, mut left: Budget, active_ms: u64, bytes: u64) -> Budget {
        left.spend(Spent::Calls, self.calls);
        left.spend(Spent::Time, active_ms);
        left.spend(Spent::Bytes, bytes);
        left.spend(Spent::Tokens, self.tokens);
        left
    }

    /// Whose budget bounds a part of what the run may use.
    pub fn budget_source(&self, what: Spent) -> BudgetSource {
        let operators = self.operator_budget.part(what);
        match operators.is_some() && operators == self.budget.part(what) {
            true => BudgetSource::Operator,
            false => BudgetSource::Caller,
        }
    }

    /// Adds to the budget that ran out. A caller's extension does not touch the operator's bound.
    pub(super) fn extend(&mut self, source: Option<BudgetSource>, more: &Budget) {
        self.caller_budget.extend(more);
        if source == Some(BudgetSource::Operator) {
            self.operator_budget.extend(more);
        }
        self.budget = self.caller_budget.lesser(&self.operator_budget);
    }

    /// When it is over unless somebody answers, in milliseconds since 1970.
    pub fn expires_ms(&self) -> Option<i64> {
        let ttl = self.started.ttl_ms.filter(|_| self.is_paused())?;
        Some(self.updated_ms.saturating_add_unsigned(ttl))
    }

    fn between_layers(&self) -> bool {
        self.started.policy == Policy::Layered && self.layer.left == 0
    }

    /// Whether no step is under way and none could start without an answer.
    fn idle(&self) -> bool {
        self.still(|stage| stage == Stage::Doubted)
    }

    /// Whether everything waits: for answers, or for the time.
    fn rests(&self) -> bool {
        let waits = !self.pauses.is_empty() || !self.open.is_empty();
        waits && self.still(|stage| matches!(stage, Stage::Doubted | Stage::Sleeping(_)))
    }

    fn still(&self, is_still: impl Fn(Stage) -> bool) -> bool {
        // Without a budget no further attempt leaves either, and no further item begins.
        let stalled = self.stalled.is_some();
        let put_off = |stage| stalled && matches!(stage, Stage::Resting | Stage::Again);
        let waits = |spread: &Spread| spread.waits() || (stalled && !spread.is_over());
        (self.flow.ready.is_empty() || self.between_layers() || stalled)
            && self
                .open
                .values()
                .all(|open| is_still(open.stage) || put_off(open.stage))
            && self.spreads.values().all(waits)
    }
}
