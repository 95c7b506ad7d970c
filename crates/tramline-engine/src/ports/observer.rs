//! `Observer`: receives the events of runs and SOP sessions, for telemetry.
//!
//! It receives an event once it is durable, and only in the process that appended it, so that
//! nothing is reported twice. It must not block: drivers call it between two steps.

use std::time::Duration;
use tramline_sop::SopSession;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::Entry;
use tramline_workflow::run::Run;
use tramline_workflow::trace_context::TraceContext;

/// Receives the events of runs and SOP sessions.
pub trait Observer: Send + Sync + 'static {
    /// This process appended these events to a run, whose state includes them and possibly later
    /// ones.
    fn on_append(&self, run: &Run, entries: &[Entry]);

    /// These events happened before this process resumed the run, or another process appended them.
    /// Some may be known.
    fn on_replay(&self, run: &Run, entries: &[Entry]);

    /// This process started a run with these events of another run, which were reported for that
    /// one.
    fn on_fork(&self, run: &Run, past: &[Entry]);

    /// This process appended these events to an SOP session.
    fn on_sop_append(&self, walk: &SopSession, entries: &[Entry]);

    /// The trace context to send with this attempt of a step; `None` if propagation is off.
    fn trace_context(&self, run: &Run, step: StepNo, attempt: u32) -> Option<TraceContext>;

    /// The same for a call of an SOP session.
    fn sop_trace_context(&self, walk: &SopSession, call: u32) -> Option<TraceContext>;

    /// An append took this long.
    fn on_append_time(&self, took: Duration, failed: bool);

    /// The number of runs driven by this process.
    fn on_driven_runs(&self, runs: usize);

    /// A plan is about to be made: returns the span for the work on it.
    fn begin_planning(&self, within: Option<&TraceContext>) -> TraceContext;

    /// A plan was made, or planning failed.
    fn on_planned(&self, thought: &PlanningSpan<'_>);
}

impl std::fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

/// A plan that was made or attempted.
#[derive(Clone, Debug)]
pub struct PlanningSpan<'a> {
    /// Its span, as returned by [`Observer::begin_planning`].
    pub span: &'a TraceContext,
    /// The parent span.
    pub parent: Option<&'a TraceContext>,
    /// The name of the planner.
    pub by: &'a str,
    /// When planning started, in milliseconds since 1970.
    pub began_ms: i64,
    /// The tokens it used.
    pub tokens: u64,
    /// Why there is no plan.
    pub failure: Option<&'a str>,
}
