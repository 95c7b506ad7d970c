//! Turns one event of a run into spans, metrics and log lines.

use super::open_spans::{OpenSpans, OpenStep};
use super::{ObservedRun, TelemetryObserver, log_lines, set_run_attributes};
use crate::metrics::elapsed;
use crate::otlp::SpanKind;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::{Answer, Entry, Event, Outcome, RunEvent};

impl TelemetryObserver {
    /// Records an event. `begun` is the state before it.
    pub(super) fn record(&self, scene: &ObservedRun<'_>, begun: &OpenSpans, entry: &Entry) {
        log_lines::log_event(scene.run, entry);
        let at_ms = entry.at_ms;
        match &entry.event {
            Event::Run(RunEvent::Started(_)) => self.metrics.started.add(&[], 1),
            Event::Run(RunEvent::AttemptFailed { step, failure, .. }) => {
                self.metrics.retries.add(&[], 1);
                if let Some(open) = begun.steps.get(step) {
                    self.attempt(scene, *step, open, at_ms, &Err(failure));
                }
            }
            Event::Run(RunEvent::StepFinished {
                step, node, output, ..
            }) => self.step(scene, begun, (*step, *node), at_ms, &Ok(output)),
            Event::Run(RunEvent::StepFailed {
                step,
                node,
                failure,
            }) => self.step(scene, begun, (*step, *node), at_ms, &Err(failure)),
            Event::Run(RunEvent::FannedIn { step, node }) => {
                let output = Default::default();
                self.step(scene, begun, (*step, *node), at_ms, &Ok(&output));
            }
            Event::Run(RunEvent::Paused { pause }) => self.metrics.pauses.add(&[pause.kind()], 1),
            Event::Run(RunEvent::Answered { pause, answer, .. }) => {
                self.pause(scene, begun, *pause, at_ms, answer_name(answer));
            }
            Event::Run(RunEvent::Finished { outcome }) => {
                self.finished(scene, begun, at_ms, outcome)
            }
            Event::Run(
                RunEvent::Resumed { .. }
                | RunEvent::StepStarted { .. }
                | RunEvent::FannedOut { .. }
                | RunEvent::Waiting { .. }
                | RunEvent::BreakpointsSet { .. }
                | RunEvent::GraphExtended { .. },
            )
            | Event::Sop(_) => {}
        }
    }

    /// The span of a pause, from the question to the answer.
    fn pause(
        &self,
        ObservedRun {
            run,
            ids,
            context: place,
        }: &ObservedRun<'_>,
        begun: &OpenSpans,
        seq: Seq,
        at_ms: i64,
        answer: &'static str,
    ) {
        let Some((kind, since_ms)) = begun.pauses.get(&seq).filter(|_| place.sampled) else {
            return;
        };
        let span = place.span(ids.pause(seq), Some(ids.run()));
        let mut span = span.with_times(*since_ms, at_ms);
        span.set_name(SpanKind::Internal, "tramline.pause", kind);
        set_run_attributes(&mut span, &run.id);
        span.text("tramline.pause.kind", kind);
        span.text("tramline.pause.answer", answer);
        self.push(span);
    }

    /// The end of a run: ends its open spans and its own span.
    fn finished(&self, scene: &ObservedRun<'_>, begun: &OpenSpans, at_ms: i64, outcome: &Outcome) {
        let ObservedRun {
            run,
            ids,
            context: place,
        } = scene;
        let gone = Failure::new(FailureKind::Cancelled, "the run ended first");
        for (step, open) in &begun.steps {
            let OpenStep { node, .. } = open;
            self.step(scene, begun, (*step, *node), at_ms, &Err(&gone));
        }
        for seq in begun.pauses.keys() {
            self.pause(scene, begun, *seq, at_ms, "none");
        }
        let (status, error) = outcome_status(outcome);
        self.metrics.ended.add(&[status], 1);
        let name = &run.graph.workflow.name;
        let took = elapsed(run.started_ms, at_ms);
        let kind = error.as_ref().map_or("", |(kind, _)| kind);
        self.metrics.workflows.observe(&[name, kind], took);
        if let Outcome::Failed { failure, .. } = outcome {
            let values = ["run", failure.kind.code()];
            self.metrics.failures.add(&values, 1);
        }
        if !place.sampled {
            return;
        }
        let span = place.span(ids.run(), place.parent);
        let mut span = span.with_times(run.started_ms, at_ms);
        span.set_name(SpanKind::Internal, "invoke_workflow", name);
        set_run_attributes(&mut span, &run.id);
        span.text("gen_ai.operation.name", "invoke_workflow");
        span.text("gen_ai.workflow.name", name);
        if let Some(session) = &run.started.session {
            span.text("gen_ai.conversation.id", session);
        }
        if let Some(fork) = &run.started.fork {
            span.text("tramline.fork.run.id", fork.run.as_str());
        }
        span.text("tramline.run.status", status);
        span.number("tramline.run.steps", run.step_count);
        span.number(
            "tramline.run.calls",
            i64::try_from(run.call_count).unwrap_or(i64::MAX),
        );
        if let Some((kind, says)) = error {
            span.text("error.type", kind);
            span.failed(&(self.redact)(&says));
        }
        self.push(span);
    }
}

/// The `error.type` of a failure.
pub(crate) fn error_type(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Tool => "tool_error",
        FailureKind::Unavailable => "unavailable",
        FailureKind::Timeout => "timeout",
        FailureKind::BadAnswer => "bad_answer",
        FailureKind::UnknownTool => "unknown_tool",
        FailureKind::BadArguments => "bad_arguments",
        FailureKind::Expression => "expression",
        FailureKind::Forbidden => "forbidden",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Schema => "schema",
        FailureKind::Limit => "limit",
        FailureKind::Stalled => "stalled",
        FailureKind::Rejected => "rejected",
        FailureKind::NotRecorded => "not_recorded",
    }
}

/// The status of an outcome, with its error if there is one.
fn outcome_status(outcome: &Outcome) -> (&'static str, Option<(&'static str, String)>) {
    match outcome {
        Outcome::Completed { .. } => ("completed", None),
        Outcome::Failed { failure, .. } => {
            let kind = error_type(failure.kind);
            ("failed", Some((kind, failure.message.clone())))
        }
        Outcome::Rejected { why, .. } => {
            let says = why
                .clone()
                .unwrap_or_else(|| "a person rejected it".to_owned());
            ("rejected", Some(("rejected", says)))
        }
        Outcome::Aborted { why, .. } => {
            let word = outcome.status();
            let says = why.clone().unwrap_or_else(|| format!("the run {word}"));
            (word, Some((word, says)))
        }
    }
}

fn answer_name(answer: &Answer) -> &'static str {
    match answer {
        Answer::Proceed | Answer::ProceedWith { .. } => "proceed",
        Answer::Reject => "reject",
        Answer::Retry => "retry",
        Answer::Skip { .. } => "skip",
        Answer::Extend { .. } => "extend",
    }
}
