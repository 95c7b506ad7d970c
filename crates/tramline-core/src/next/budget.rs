//! What a run's budget leaves: how many calls may still begin, and what to ask when none may.

use super::Allowance;
use crate::journal::{Budget, Pause, Spent};
use crate::run::{Run, Stage};

/// How much may begin at this moment.
pub(super) struct Room {
    /// How many steps.
    pub(super) free: usize,
    /// How many of them may call.
    pub(super) calls: u64,
    /// Whether something would call if it might.
    pub(super) wanting: bool,
}

impl Room {
    pub(super) fn of(run: &Run, free: usize) -> Self {
        let most = run.budget.calls.unwrap_or(u64::MAX);
        Self {
            free,
            calls: most.saturating_sub(run.calls),
            wanting: false,
        }
    }

    /// Takes the place of one call, if there is one.
    pub(super) fn call(&mut self) -> bool {
        if self.calls == 0 {
            self.wanting = true;
            return false;
        }
        self.calls -= 1;
        true
    }
}

/// The question about a part of the budget.
pub(super) fn ask(run: &Run, what: Spent, used: u64) -> Pause {
    let limit = run.budget.part(what).unwrap_or(u64::MAX);
    Pause::Budget {
        what,
        used,
        limit,
        source: Some(run.budget_source(what)),
    }
}

/// The part that is spent, apart from calls: those bar only what calls.
pub(super) fn spent(run: &Run, allowance: &Allowance<'_>) -> Option<Pause> {
    if run.budget == Budget::default() {
        return None;
    }
    let begins = |stage| matches!(stage, Stage::Again);
    let wants = !run.flow.ready.is_empty()
        || run.spreads.values().any(|spread| !spread.is_over())
        || run.open.values().any(|open| begins(open.stage));
    // Time passes while calls run too: whoever waits for them is told at once.
    let busy = wants || !run.open.is_empty();
    let parts = [
        (busy, Spent::Time, allowance.active_ms),
        (wants, Spent::Bytes, allowance.bytes),
        (wants, Spent::Tokens, run.tokens),
    ];
    parts.into_iter().find_map(|(asks, what, used)| {
        let limit = run.budget.part(what).filter(|_| asks)?;
        (used >= limit).then(|| ask(run, what, used))
    })
}

/// What stands in the way of another attempt of a step that is under way: a question that waits
/// already, or one to be asked now.
pub fn bars(run: &Run, allowance: &Allowance<'_>) -> Option<Option<Pause>> {
    if run.stalled.is_some() {
        return Some(None);
    }
    let calls = (Room::of(run, 1).calls == 0).then(|| ask(run, Spent::Calls, run.calls));
    spent(run, allowance).or(calls).map(Some)
}
