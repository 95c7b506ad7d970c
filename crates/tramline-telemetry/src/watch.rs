//! Reads journals as they grow, and tells of them: spans, counts, lines in the log.
//!
//! All of it follows from events and their times, so a run that goes on in another process is told
//! as one. What is kept in memory is what has begun and not ended in the runs that were touched
//! last; a process that takes a run up learns that anew from its journal.

mod conversation;
mod lines;
mod open;
mod steps;
mod tell;

pub(crate) use tell::error_type;

use crate::export::Exporter;
use crate::ids::Ids;
use crate::metrics::{Metrics, between};
use crate::otlp::{Kind, Span};
use crate::settings::{HandedOn, Sampler, Settings};
use crate::{Redact, Surroundings, ids};
use open::Runs;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::Str;
use tramline_core::ids::StepNo;
use tramline_core::journal::{Entry, Event};
use tramline_core::navigate::Walk;
use tramline_core::run::Run;
use tramline_core::upstream::Upstream;
use tramline_core::workflow::{Action, WORKFLOW_SERVER};
use tramline_engine::clock;
use tramline_engine::seams::{Observer, Thought};

/// How a server is reached, in the convention's words; nothing for tools without one.
pub type Transport = Arc<dyn Fn(&str) -> Option<&'static str> + Send + Sync>;

/// Reads journals as they grow.
pub(crate) struct Watch {
    pub(crate) metrics: Arc<Metrics>,
    exporter: Option<Exporter>,
    /// Which traces are recorded; nothing if nobody takes any.
    sampler: Option<Sampler>,
    content: bool,
    handed_on: HandedOn,
    transport: Transport,
    redact: Redact,
    runs: Runs,
}

/// Where a run stands among traces.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    trace: u128,
    /// The span of who called, if it named one.
    pub(crate) within: Option<u64>,
    state: Option<Str>,
    pub(crate) sampled: bool,
}

/// A run that something is told of, and where it stands.
struct Scene<'a> {
    run: &'a Run,
    ids: Ids<'a>,
    place: Place,
}

impl Watch {
    pub(crate) fn new(
        settings: &Settings,
        exporter: Option<Exporter>,
        metrics: Arc<Metrics>,
        around: Surroundings,
    ) -> Self {
        let traces = settings.traces.as_ref().filter(|_| exporter.is_some());
        Self {
            metrics,
            sampler: traces.map(|traces| traces.sampler),
            exporter,
            content: settings.content,
            handed_on: settings.handed_on,
            transport: around.transport,
            redact: around.redact,
            runs: Runs::default(),
        }
    }

    /// Sends what is left, for a while.
    pub(crate) async fn close(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.close().await;
        }
    }

    /// Where something stands that no run stands behind.
    pub(crate) fn place_among(&self, upstream: Option<&Upstream>) -> Place {
        let by_chance = || u128::from(ids::by_chance()) << 64 | u128::from(ids::by_chance());
        self.placed(upstream.map_or_else(by_chance, |it| it.trace), upstream)
    }

    /// Where something stands that this run id and this caller name.
    fn place(&self, ids: Ids<'_>, upstream: Option<&Upstream>) -> Place {
        let trace = upstream.map_or_else(|| ids.trace(), |it| it.trace);
        self.placed(trace, upstream)
    }

    fn placed(&self, trace: u128, upstream: Option<&Upstream>) -> Place {
        Place {
            trace,
            within: upstream.map(|it| it.span),
            state: upstream.and_then(|it| it.state.clone()),
            sampled: self.sampler.is_some_and(|it| it.takes(trace, upstream)),
        }
    }

    fn scene<'a>(&self, run: &'a Run) -> Scene<'a> {
        let ids = Ids::of(&run.id);
        let place = self.place(ids, run.started.upstream.as_deref());
        Scene { run, ids, place }
    }

    pub(crate) fn push(&self, span: Span) {
        if let Some(exporter) = &self.exporter {
            exporter.push(&span);
        }
    }

    /// The span that what happens below one of ours belongs to.
    fn below(&self, place: Place, span: u64, upstream: Option<&Upstream>) -> Option<Upstream> {
        // Without spans of our own there is nothing that it could belong to.
        self.sampler?;
        Some(Upstream {
            trace: place.trace,
            span,
            sampled: place.sampled,
            state: place.state,
            baggage: upstream.and_then(|it| it.baggage.clone()),
        })
    }

    /// What goes with a call, so that who is called joins the trace.
    fn handed_on(&self, place: Place, span: u64, upstream: Option<&Upstream>) -> Option<Upstream> {
        let HandedOn { context, baggage } = self.handed_on;
        let mut below = self.below(place, span, upstream).filter(|_| context)?;
        below.baggage = below.baggage.filter(|_| baggage);
        Some(below)
    }
}

impl Place {
    pub(crate) fn span(&self, id: u64, parent: Option<u64>) -> Span {
        Span::new(self.trace, id, parent, self.state.as_deref())
    }
}

impl Observer for Watch {
    fn saw(&self, run: &Run, entries: &[Entry]) {
        let scene = self.scene(run);
        self.runs.with(&run.id, |begun| {
            for entry in entries {
                self.tell(&scene, begun, entry);
                begun.apply(entry, self.content);
            }
        });
        if entries.iter().any(is_last) {
            self.runs.forget(&run.id);
        }
    }

    fn learnt(&self, run: &Run, entries: &[Entry]) {
        if entries.iter().any(is_last) {
            self.runs.forget(&run.id);
            return;
        }
        self.runs.with(&run.id, |begun| {
            let known = begun.seq;
            for entry in entries.iter().filter(|entry| entry.seq > known) {
                begun.apply(entry, self.content);
            }
        });
    }

    fn forked(&self, run: &Run, past: &[Entry]) {
        self.metrics.started.add(&[], 1);
        self.learnt(run, past);
    }

    fn walked(&self, walk: &Walk, entries: &[Entry]) {
        self.conversed(walk, entries);
    }

    fn beneath(&self, run: &Run, step: StepNo, attempt: u32) -> Option<Upstream> {
        let node = run.open.get(&step)?.node;
        let calls_workflow = match &run.graph.node(node).action {
            Action::Call { tool, .. } => tool.server == WORKFLOW_SERVER,
            Action::Entry
            | Action::Compute { .. }
            | Action::Choose { .. }
            | Action::Wait(_)
            | Action::Exit => false,
        };
        let upstream = run.started.upstream.as_deref();
        let Scene { ids, place, .. } = self.scene(run);
        match calls_workflow {
            // The run of a workflow that is called stands for the call, and is ours whatever is told
            // to others.
            true => self.below(place, ids.step(step), upstream),
            false => self.handed_on(place, ids.attempt(step, attempt), upstream),
        }
    }

    fn beneath_walk(&self, walk: &Walk, call: u32) -> Option<Upstream> {
        let ids = Ids::of(&walk.id);
        let called = walk.open.get(&call);
        let upstream = called.and_then(|called| called.upstream.as_deref());
        self.handed_on(self.place(ids, upstream), ids.attempt(call, 1), upstream)
    }

    fn appended(&self, took: Duration, failed: bool) {
        let outcome = if failed { "failed" } else { "durable" };
        self.metrics.appends.took(&[outcome], took);
    }

    fn driving(&self, runs: usize) {
        self.metrics.live.set(runs as u64);
    }

    fn planning(&self, within: Option<&Upstream>) -> Upstream {
        let place = self.place_among(within);
        Upstream {
            trace: place.trace,
            span: ids::by_chance(),
            sampled: place.sampled,
            state: place.state,
            baggage: within.and_then(|it| it.baggage.clone()),
        }
    }

    fn planned(&self, thought: &Thought<'_>) {
        let now_ms = clock::now_ms();
        let ms = between(thought.began_ms, now_ms).as_millis() as u64;
        tracing::info!(target: "tramline::plan", by = thought.by, ms, failure = thought.failure, "planned");
        if !thought.span.sampled {
            return;
        }
        let Upstream {
            trace, span, state, ..
        } = thought.span;
        let within = thought.within.map(|it| it.span);
        let span = Span::new(*trace, *span, within, state.as_deref());
        let mut span = span.during(thought.began_ms, now_ms);
        span.named(Kind::Internal, "plan", AGENT);
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

/// Who plans, as spans name it.
const AGENT: &str = "tramline";

/// Whether a run is over with this event.
fn is_last(entry: &Entry) -> bool {
    matches!(entry.event, Event::Finished { .. })
}

/// Adds what every span of a run says.
fn of_run(span: &mut Span, run: &tramline_core::ids::RunId) {
    span.text("tramline.run.id", run.as_str());
}
