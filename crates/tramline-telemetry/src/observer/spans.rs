//! Turns one event of a run into spans, metrics and log lines.

use super::open_spans::OpenSpans;
use super::{ObservedRun, TelemetryObserver, log_lines, set_run_attributes};
use crate::metrics::elapsed;
use crate::otlp::SpanKind;
use tramline_expr::Value;
use tramline_views::step_tracker::{OpenPause, StepEnd, TrackedStep, Update};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::journal::{Entry, Outcome};

impl TelemetryObserver {
    /// Records an event.
    pub(super) fn record(&self, scene: &ObservedRun<'_>, begun: &mut OpenSpans, entry: &Entry) {
        log_lines::log_event(scene.run, entry);
        let at_ms = entry.at_ms;
        let Some(update) = begun.follow(entry, self.capture_content) else {
            return;
        };
        match update {
            Update::Started(_) => self.metrics.started.add(&[], 1),
            Update::AttemptFailed { step, failure, .. } => {
                self.metrics.retries.add(&[], 1);
                if let Some(open) = step {
                    let arguments = begun.arguments(open.step, false);
                    self.attempt(scene, &open, &arguments, at_ms, &Err(failure));
                }
            }
            Update::StepEnded {
                step,
                is_announced,
                end,
            } => {
                let nothing = Value::Null;
                let came = match end {
                    StepEnd::Finished { output, .. } => Ok(output),
                    StepEnd::FannedIn => Ok(&nothing),
                    StepEnd::Failed(failure) => Err(failure),
                };
                let step = TrackedStep {
                    since_ms: if is_announced { step.since_ms } else { at_ms },
                    ..step
                };
                self.step(scene, begun, &step, at_ms, &came);
            }
            Update::Paused(pause) => self.metrics.pauses.add(&[pause.kind()], 1),
            Update::Answered(answered) => {
                self.pause(scene, answered.pause, at_ms, answered.answer.name());
                if let Some((step, output)) = answered.skipped {
                    self.step(scene, begun, &step, at_ms, &Ok(output));
                }
            }
            Update::Finished {
                outcome,
                steps,
                pauses,
            } => {
                let gone = Failure::new(FailureKind::Cancelled, "the run ended first");
                for step in &steps {
                    self.step(scene, begun, step, at_ms, &Err(&gone));
                }
                for pause in pauses {
                    self.pause(scene, Some(pause), at_ms, "none");
                }
                self.finished(scene, at_ms, outcome);
            }
            Update::StepStarted { .. } | Update::Changed(_) => {}
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
        pause: Option<OpenPause>,
        at_ms: i64,
        answer: &'static str,
    ) {
        let Some(pause) = pause.filter(|_| place.sampled) else {
            return;
        };
        let span = place.span(ids.pause(pause.seq), Some(ids.run()));
        let mut span = span.with_times(pause.since_ms, at_ms);
        span.set_name(SpanKind::Internal, "tramline.pause", pause.kind);
        set_run_attributes(&mut span, &run.id);
        span.text("tramline.pause.kind", pause.kind);
        span.text("tramline.pause.answer", answer);
        self.push(span);
    }

    /// The end of a run.
    fn finished(&self, scene: &ObservedRun<'_>, at_ms: i64, outcome: &Outcome) {
        let ObservedRun {
            run,
            ids,
            context: place,
        } = scene;
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
