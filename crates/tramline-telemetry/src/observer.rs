//! The observer: turns journals into spans, metrics and log lines as they grow.
//!
//! Everything is derived from events and their times, so a run that continues in another process is still one trace.
//! Memory holds only open spans of the most recently active runs; a process that takes over a run rebuilds them from
//! its journal.

mod log_lines;
mod open_spans;
mod sop_session;
mod spans;
mod steps;

pub(crate) use spans::error_type;

use crate::export::Exporter;
use crate::ids::SpanIds;
use crate::metrics::{Metrics, elapsed};
use crate::otlp::{OtlpSpan, SpanKind};
use crate::settings::{Propagation, Sampler, TelemetrySettings};
use crate::{Redact, TelemetryContext, ids};
use open_spans::OpenRuns;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::clock;
use tramline_engine::ports::{Observer, PlanningSpan};
use tramline_expr::Str;
use tramline_sop::SopSession;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::Entry;
use tramline_workflow::run::Run;
use tramline_workflow::trace_context::TraceContext;

/// The transport of a server in the semantic conventions; `None` for tools without a server.
pub type Transport = Arc<dyn Fn(&str) -> Option<&'static str> + Send + Sync>;

/// The observer of journals.
pub(crate) struct TelemetryObserver {
    pub(crate) metrics: Arc<Metrics>,
    exporter: Option<Exporter>,
    /// Which traces are recorded; `None` if spans are not exported.
    sampler: Option<Sampler>,
    capture_content: bool,
    propagation: Propagation,
    transport: Transport,
    redact: Redact,
    open_runs: OpenRuns,
}

/// The trace context of a run.
#[derive(Clone, Debug)]
pub(crate) struct SpanContext {
    trace: u128,
    /// The caller's span, if there is one.
    pub(crate) parent: Option<u64>,
    trace_state: Option<Str>,
    pub(crate) sampled: bool,
}

/// A run with its trace context.
struct ObservedRun<'a> {
    run: &'a Run,
    ids: SpanIds<'a>,
    context: SpanContext,
}

impl TelemetryObserver {
    pub(crate) fn new(
        settings: &TelemetrySettings,
        exporter: Option<Exporter>,
        metrics: Arc<Metrics>,
        around: TelemetryContext,
    ) -> Self {
        let traces = settings.traces.as_ref().filter(|_| exporter.is_some());
        Self {
            metrics,
            sampler: traces.map(|traces| traces.sampler),
            exporter,
            capture_content: settings.capture_content,
            propagation: settings.propagation,
            transport: around.transport,
            redact: around.redact,
            open_runs: OpenRuns::default(),
        }
    }

    /// Sends the remaining spans, for at most a few seconds.
    pub(crate) async fn close(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.close().await;
        }
    }

    /// The trace context of something without a run.
    pub(crate) fn context_without_run(&self, upstream: Option<&TraceContext>) -> SpanContext {
        let by_chance = || u128::from(ids::random_id()) << 64 | u128::from(ids::random_id());
        self.context_in_trace(upstream.map_or_else(by_chance, |it| it.trace), upstream)
    }

    /// The trace context of a run with this caller.
    fn context_of_run(&self, ids: SpanIds<'_>, upstream: Option<&TraceContext>) -> SpanContext {
        let trace = upstream.map_or_else(|| ids.trace(), |it| it.trace);
        self.context_in_trace(trace, upstream)
    }

    fn context_in_trace(&self, trace: u128, upstream: Option<&TraceContext>) -> SpanContext {
        SpanContext {
            trace,
            parent: upstream.map(|it| it.span),
            trace_state: upstream.and_then(|it| it.state.clone()),
            sampled: self.sampler.is_some_and(|it| it.samples(trace, upstream)),
        }
    }

    fn observed_run<'a>(&self, run: &'a Run) -> ObservedRun<'a> {
        let ids = SpanIds::of(&run.id);
        let place = self.context_of_run(ids, run.started.upstream.as_deref());
        ObservedRun {
            run,
            ids,
            context: place,
        }
    }

    pub(crate) fn push(&self, span: OtlpSpan) {
        if let Some(exporter) = &self.exporter {
            exporter.push(&span);
        }
    }

    /// The trace context for children of one of our spans.
    fn child_context(
        &self,
        place: SpanContext,
        span: u64,
        upstream: Option<&TraceContext>,
    ) -> Option<TraceContext> {
        // Without our own spans there is no parent.
        self.sampler?;
        Some(TraceContext {
            trace: place.trace,
            span,
            sampled: place.sampled,
            state: place.trace_state,
            baggage: upstream.and_then(|it| it.baggage.clone()),
        })
    }

    /// The trace context to send with a call, so that the callee joins the trace.
    fn propagated_context(
        &self,
        place: SpanContext,
        span: u64,
        upstream: Option<&TraceContext>,
    ) -> Option<TraceContext> {
        let Propagation { context, baggage } = self.propagation;
        let mut below = self
            .child_context(place, span, upstream)
            .filter(|_| context)?;
        below.baggage = below.baggage.filter(|_| baggage);
        Some(below)
    }
}

impl SpanContext {
    pub(crate) fn span(&self, id: u64, parent: Option<u64>) -> OtlpSpan {
        OtlpSpan::new(self.trace, id, parent, self.trace_state.as_deref())
    }
}

impl Observer for TelemetryObserver {
    fn on_append(&self, run: &Run, entries: &[Entry]) {
        let scene = self.observed_run(run);
        self.open_runs.with(&run.id, |begun| {
            for entry in entries {
                self.record(&scene, begun, entry);
            }
        });
        if entries.iter().any(is_last) {
            self.open_runs.forget(&run.id);
        }
    }

    fn on_replay(&self, run: &Run, entries: &[Entry]) {
        if entries.iter().any(is_last) {
            self.open_runs.forget(&run.id);
            return;
        }
        self.open_runs.with(&run.id, |begun| {
            let known = begun.tracker.seq();
            for entry in entries.iter().filter(|entry| entry.seq > known) {
                begun.follow(entry, self.capture_content);
            }
        });
    }

    fn on_fork(&self, run: &Run, past: &[Entry]) {
        self.metrics.started.add(&[], 1);
        self.on_replay(run, past);
    }

    fn on_sop_append(&self, walk: &SopSession, entries: &[Entry]) {
        self.record_sop_events(walk, entries);
    }

    fn trace_context(&self, run: &Run, step: StepNo, attempt: u32) -> Option<TraceContext> {
        let node = run.open_steps.get(&step)?.node;
        let calls_workflow = run.graph.node(node).action.is_workflow_call();
        let upstream = run.started.upstream.as_deref();
        let ObservedRun {
            ids,
            context: place,
            ..
        } = self.observed_run(run);
        match calls_workflow {
            // The run of a called workflow represents the call, and belongs to us whatever is propagated to others.
            true => self.child_context(place, ids.step(step), upstream),
            false => self.propagated_context(place, ids.attempt(step, attempt), upstream),
        }
    }

    fn sop_trace_context(&self, walk: &SopSession, call: u32) -> Option<TraceContext> {
        let ids = SpanIds::of(&walk.id);
        let called = walk.open_calls.get(&call);
        let upstream = called.and_then(|called| called.upstream.as_deref());
        self.propagated_context(
            self.context_of_run(ids, upstream),
            ids.attempt(call, 1),
            upstream,
        )
    }

    fn on_append_time(&self, took: Duration, failed: bool) {
        let outcome = if failed { "failed" } else { "durable" };
        self.metrics.appends.observe(&[outcome], took);
    }

    fn on_driven_runs(&self, runs: usize) {
        self.metrics.live.set(runs as u64);
    }

    fn begin_planning(&self, within: Option<&TraceContext>) -> TraceContext {
        let place = self.context_without_run(within);
        TraceContext {
            trace: place.trace,
            span: ids::random_id(),
            sampled: place.sampled,
            state: place.trace_state,
            baggage: within.and_then(|it| it.baggage.clone()),
        }
    }

    fn on_planned(&self, thought: &PlanningSpan<'_>) {
        let now_ms = clock::now_ms();
        let ms = elapsed(thought.began_ms, now_ms).as_millis() as u64;
        tracing::info!(target: "tramline::plan", by = thought.by, ms, failure = thought.failure, "planned");
        if !thought.span.sampled {
            return;
        }
        let TraceContext {
            trace, span, state, ..
        } = thought.span;
        let within = thought.parent.map(|it| it.span);
        let span = OtlpSpan::new(*trace, *span, within, state.as_deref());
        let mut span = span.with_times(thought.began_ms, now_ms);
        span.set_name(SpanKind::Internal, "plan", AGENT);
        span.text("gen_ai.operation.name", "plan");
        span.text("gen_ai.agent.name", AGENT);
        span.text("tramline.planner", thought.by);
        span.number("tramline.tokens", thought.tokens);
        if let Some(says) = thought.failure {
            span.text("error.type", "no_plan");
            span.failed(&(self.redact)(says));
        }
        self.push(span);
    }
}

/// The planner's agent name in spans.
const AGENT: &str = "tramline";

/// Whether this event ends a run.
fn is_last(entry: &Entry) -> bool {
    entry.event.outcome().is_some()
}

/// Adds the attributes that all spans of a run share.
fn set_run_attributes(span: &mut OtlpSpan, run: &tramline_workflow::ids::RunId) {
    span.text("tramline.run.id", run.as_str());
}
