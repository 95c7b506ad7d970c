//! The active-time clock of a run, and whether anything can continue without an answer.

use super::{FanOut, Run, StepStage};
use crate::authority::BudgetSource;
use crate::journal::{Budget, BudgetPart, SchedulePolicy};

/// The active time of a run. Time spent waiting for people does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ActiveTime {
    pub(super) before_ms: u64,
    pub(super) since_ms: Option<i64>,
}

impl ActiveTime {
    pub(super) fn since(at_ms: i64) -> Self {
        Self {
            before_ms: 0,
            since_ms: Some(at_ms),
        }
    }
}

impl Run {
    /// Starts and stops the clock: waiting for people or for a point in time is not active time.
    pub(super) fn update_clock(&mut self, at_ms: i64) {
        // Most events leave something to do, so the full check only runs when nothing is ready.
        let works =
            !self.flow.ready.is_empty() && !self.between_layers() && self.budget_pause.is_none();
        if works || self.outcome.is_some() || !self.is_waiting() {
            self.active_time.since_ms.get_or_insert(at_ms);
        } else if let Some(since) = self.active_time.since_ms.take() {
            self.active_time.before_ms += at_ms.saturating_sub(since).max(0) as u64;
        }
    }

    /// Whether a budget pause is open.
    pub fn has_budget_pause(&self) -> bool {
        self.budget_pause.is_some()
    }

    /// Whether it only waits for answers.
    pub fn is_paused(&self) -> bool {
        self.outcome.is_none()
            && !self.pauses.is_empty()
            && self.pending_outcome.is_none()
            && self.is_idle()
    }

    /// Its active time until `now_ms`, in milliseconds.
    pub fn active_ms(&self, now_ms: i64) -> u64 {
        let running = self
            .active_time
            .since_ms
            .map_or(0, |since| now_ms.saturating_sub(since).max(0));
        self.active_time.before_ms + running as u64
    }

    /// The rest of the caller's budget, if there is one, after this active time and with this
    /// journal size.
    pub fn budget_left(&self, active_ms: u64, bytes: u64) -> Option<Budget> {
        let left = self.started.budget.map(|_| self.caller_budget)?;
        Some(self.without_used(left, active_ms, bytes))
    }

    /// The rest of the operator's budget, if there is one.
    pub fn operator_budget_left(&self, active_ms: u64, bytes: u64) -> Option<Budget> {
        let left = self.started.operator_budget.map(|_| self.operator_budget)?;
        Some(self.without_used(left, active_ms, bytes))
    }

    fn without_used(&self, mut left: Budget, active_ms: u64, bytes: u64) -> Budget {
        left.subtract(BudgetPart::Calls, self.call_count);
        left.subtract(BudgetPart::Time, active_ms);
        left.subtract(BudgetPart::Bytes, bytes);
        left.subtract(BudgetPart::Tokens, self.model_tokens);
        left
    }

    /// Whose budget limits this part.
    pub fn budget_source(&self, what: BudgetPart) -> BudgetSource {
        let operators = self.operator_budget.part(what);
        match operators.is_some() && operators == self.budget.part(what) {
            true => BudgetSource::Operator,
            false => BudgetSource::Caller,
        }
    }

    /// Adds to the exhausted budget. A caller's extension does not change the operator's limit.
    pub(super) fn extend_budget(&mut self, source: Option<BudgetSource>, more: &Budget) {
        self.caller_budget.extend(more);
        if source == Some(BudgetSource::Operator) {
            self.operator_budget.extend(more);
        }
        self.budget = self.caller_budget.min(&self.operator_budget);
    }

    /// When it expires unless an answer arrives, in milliseconds since 1970.
    pub fn expires_ms(&self) -> Option<i64> {
        let ttl = self.started.ttl_ms.filter(|_| self.is_paused())?;
        Some(self.updated_ms.saturating_add_unsigned(ttl))
    }

    fn between_layers(&self) -> bool {
        self.started.policy == SchedulePolicy::Layered && self.layer.left == 0
    }

    /// Whether no step is running and none could start without an answer.
    fn is_idle(&self) -> bool {
        self.is_still(|stage| stage == StepStage::AwaitingDecision)
    }

    /// Whether everything waits for answers or for a point in time.
    fn is_waiting(&self) -> bool {
        let waits = !self.pauses.is_empty() || !self.open_steps.is_empty();
        waits
            && self.is_still(|stage| {
                matches!(stage, StepStage::AwaitingDecision | StepStage::Sleeping(_))
            })
    }

    fn is_still(&self, is_still: impl Fn(StepStage) -> bool) -> bool {
        // Without budget, no retry is sent and no item starts either.
        let stalled = self.budget_pause.is_some();
        let put_off = |stage| stalled && matches!(stage, StepStage::Backoff | StepStage::RetryDue);
        let waits =
            |spread: &FanOut| spread.is_waiting_for_items() || (stalled && !spread.is_over());
        (self.flow.ready.is_empty() || self.between_layers() || stalled)
            && self
                .open_steps
                .values()
                .all(|open| is_still(open.stage) || put_off(open.stage))
            && self.fan_outs.values().all(waits)
    }
}
