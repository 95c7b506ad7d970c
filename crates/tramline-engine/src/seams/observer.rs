//! `Observer`: is told what happens in runs, from their journals and beside them.
//!
//! It hears of an event once it is durable, and only in the process that appended it, so that
//! nothing is told twice. It may not wait: drivers call it between two steps.

use std::time::Duration;
use tramline_core::ids::StepNo;
use tramline_core::journal::Entry;
use tramline_core::navigate::Walk;
use tramline_core::run::Run;
use tramline_core::upstream::Upstream;

/// Is told what happens in runs.
pub trait Observer: Send + Sync + 'static {
    /// This process appended these events to a run, which stands behind them or further on.
    fn saw(&self, run: &Run, entries: &[Entry]);

    /// These events happened before this process took the run up, or another process appended
    /// them. Some may be known.
    fn learnt(&self, run: &Run, entries: &[Entry]);

    /// This process began a run with these events of another, which were told as that one's.
    fn forked(&self, run: &Run, past: &[Entry]);

    /// This process appended these events to a conversation.
    fn walked(&self, walk: &Walk, entries: &[Entry]);

    /// What goes with the call of a step, for who is called. Nothing if it is not to be told.
    fn beneath(&self, run: &Run, step: StepNo, attempt: u32) -> Option<Upstream>;

    /// The same for a call from a conversation.
    fn beneath_walk(&self, walk: &Walk, call: u32) -> Option<Upstream>;

    /// An append took so long.
    fn appended(&self, took: Duration, failed: bool);

    /// So many runs are driven here now.
    fn driving(&self, runs: usize);

    /// A plan is about to be made: the span that what is done for it belongs to.
    fn planning(&self, within: Option<&Upstream>) -> Upstream;

    /// A plan was made, or none came of it.
    fn planned(&self, thought: &Thought<'_>);
}

impl std::fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

/// A plan that was made, or was to be made.
#[derive(Clone, Debug)]
pub struct Thought<'a> {
    /// Its span, as [`Observer::planning`] gave it.
    pub span: &'a Upstream,
    /// The span that it belongs to.
    pub within: Option<&'a Upstream>,
    /// Who planned.
    pub by: &'a str,
    /// When that began, in milliseconds since 1970.
    pub began_ms: i64,
    /// How many tokens it took.
    pub tokens: u64,
    /// Why there is no plan.
    pub failure: Option<&'a str>,
}
