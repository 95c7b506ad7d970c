//! What a run's budget leaves: how many calls may still start, and the pause when none may.

use super::DecisionInput;
use crate::journal::{Budget, BudgetPart, Pause};
use crate::run::{Run, StepStage};

/// How much may start now.
pub(super) struct StartCapacity {
    /// The number of steps.
    pub(super) steps: usize,
    /// The number of calls among them.
    pub(super) calls: u64,
    /// Whether a call was held back for lack of budget.
    pub(super) call_was_blocked: bool,
}

impl StartCapacity {
    pub(super) fn of(run: &Run, steps: usize) -> Self {
        let most = run.budget.calls.unwrap_or(u64::MAX);
        Self {
            steps,
            calls: most.saturating_sub(run.call_count),
            call_was_blocked: false,
        }
    }

    /// Takes the budget of one call, if there is any left.
    pub(super) fn take_call(&mut self) -> bool {
        if self.calls == 0 {
            self.call_was_blocked = true;
            return false;
        }
        self.calls -= 1;
        true
    }
}

/// The pause for a part of the budget.
pub(super) fn budget_pause(run: &Run, what: BudgetPart, used: u64) -> Pause {
    let limit = run.budget.part(what).unwrap_or(u64::MAX);
    Pause::Budget {
        what,
        used,
        limit,
        source: Some(run.budget_source(what)),
    }
}

/// The exhausted part, except calls: an exhausted call budget only blocks steps that call.
pub(super) fn exhausted_budget(run: &Run, allowance: &DecisionInput<'_>) -> Option<Pause> {
    if run.budget == Budget::default() {
        return None;
    }
    let begins = |stage| matches!(stage, StepStage::RetryDue);
    let wants = !run.flow.ready.is_empty()
        || run.fan_outs.values().any(|spread| !spread.is_over())
        || run.open_steps.values().any(|open| begins(open.stage));
    // Time also passes while calls run, so the pause is not delayed until they end.
    let busy = wants || !run.open_steps.is_empty();
    let parts = [
        (busy, BudgetPart::Time, allowance.active_ms),
        (wants, BudgetPart::Bytes, allowance.bytes),
        (wants, BudgetPart::Tokens, run.model_tokens),
    ];
    parts.into_iter().find_map(|(asks, what, used)| {
        let limit = run.budget.part(what).filter(|_| asks)?;
        (used >= limit).then(|| budget_pause(run, what, used))
    })
}

/// What blocks another attempt of an open step: `Some(None)` for a budget pause that is already
/// open, `Some(Some(_))` for one to append now.
pub fn retry_block(run: &Run, allowance: &DecisionInput<'_>) -> Option<Option<Pause>> {
    if run.budget_pause.is_some() {
        return Some(None);
    }
    let calls = (StartCapacity::of(run, 1).calls == 0)
        .then(|| budget_pause(run, BudgetPart::Calls, run.call_count));
    exhausted_budget(run, allowance).or(calls).map(Some)
}
