//! One event of a run, told: what span it ends, what it counts, what is said of it.

use super::open::{Begun, Step};
use super::{Scene, Watch, lines, of_run};
use crate::metrics::between;
use crate::otlp::Kind;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::Seq;
use tramline_core::journal::{Answer, Entry, Event, Outcome};

impl Watch {
    /// Tells of an event. What has begun is as it was before it.
    pub(super) fn tell(&self, scene: &Scene<'_>, begun: &Begun, entry: &Entry) {
        lines::say(scene.run, entry);
        let at_ms = entry.at_ms;
        match &entry.event {
            Event::Started(_) => self.metrics.started.add(&[], 1),
            Event::AttemptFailed { step, failure, .. } => {
                self.metrics.retries.add(&[], 1);
                if let Some(open) = begun.steps.get(step) {
                    self.attempt(scene, *step, open, at_ms, &Err(failure));
                }
            }
            Event::StepFinished {
                step, node, output, ..
            } => self.step(scene, begun, (*step, *node), at_ms, &Ok(output)),
            Event::StepFailed {
                step,
                node,
                failure,
            } => self.step(scene, begun, (*step, *node), at_ms, &Err(failure)),
            Event::Gathered { step, node } => {
                let output = Default::default();
                self.step(scene, begun, (*step, *node), at_ms, &Ok(&output));
            }
            Event::Paused { pause } => self.metrics.pauses.add(&[pause.kind()], 1),
            Event::Answered { pause, answer, .. } => {
                self.pause(scene, begun, *pause, at_ms, answered(answer));
            }
            Event::Finished { outcome } => self.finished(scene, begun, at_ms, outcome),
            Event::Resumed { .. }
            | Event::StepStarted { .. }
            | Event::Spread { .. }
            | Event::Waiting { .. }
            | Event::Watched { .. }
            | Event::Amended { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_) => {}
        }
    }

    /// A question from when it was asked until it was answered.
    fn pause(
        &self,
        Scene { run, ids, place }: &Scene<'_>,
        begun: &Begun,
        seq: Seq,
        at_ms: i64,
        answer: &'static str,
    ) {
        let Some((kind, since_ms)) = begun.pauses.get(&seq).filter(|_| place.sampled) else {
            return;
        };
        let span = place.span(ids.pause(seq), Some(ids.run()));
        let mut span = span.during(*since_ms, at_ms);
        span.named(Kind::Internal, "tramline.pause", kind);
        of_run(&mut span, &run.id);
        span.text("tramline.pause.kind", kind);
        span.text("tramline.pause.answer", answer);
        self.push(span);
    }

    /// The end of a run: of what was still under way in it, and of itself.
    fn finished(&self, scene: &Scene<'_>, begun: &Begun, at_ms: i64, outcome: &Outcome) {
        let Scene { run, ids, place } = scene;
        let gone = Failure::new(FailureKind::Cancelled, "the run ended before it");
        for (step, open) in &begun.steps {
            let Step { node, .. } = open;
            self.step(scene, begun, (*step, *node), at_ms, &Err(&gone));
        }
        for seq in begun.pauses.keys() {
            self.pause(scene, begun, *seq, at_ms, "none");
        }
        let (status, error) = ended(outcome);
        self.metrics.ended.add(&[status], 1);
        let name = &run.graph.workflow.name;
        let took = between(run.started_ms, at_ms);
        let kind = error.as_ref().map_or("", |(kind, _)| kind);
        self.metrics.workflows.took(&[name, kind], took);
        if let Outcome::Failed { failure, .. } = outcome {
            let values = ["run", failure.kind.code()];
            self.metrics.failures.add(&values, 1);
        }
        if !place.sampled {
            return;
        }
        let span = place.span(ids.run(), place.within);
        let mut span = span.during(run.started_ms, at_ms);
        span.named(Kind::Internal, "invoke_workflow", name);
        of_run(&mut span, &run.id);
        span.text("gen_ai.operation.name", "invoke_workflow");
        span.text("gen_ai.workflow.name", name);
        if let Some(session) = &run.started.session {
            span.text("gen_ai.conversation.id", session);
        }
        if let Some(fork) = &run.started.fork {
            span.text("tramline.fork.run.id", fork.run.as_str());
        }
        span.text("tramline.run.status", status);
        span.number("tramline.run.steps", run.steps);
        span.number(
            "tramline.run.calls",
            i64::try_from(run.calls).unwrap_or(i64::MAX),
        );
        if let Some((kind, says)) = error {
            span.text("error.type", kind);
            span.failed(&(self.redact)(&says));
        }
        self.push(span);
    }
}

/// A kind of failure in the conventions' words.
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

/// How a run ended, and what was wrong about that.
fn ended(outcome: &Outcome) -> (&'static str, Option<(&'static str, String)>) {
    match outcome {
        Outcome::Completed { .. } => ("completed", None),
        Outcome::Failed { failure, .. } => {
            let kind = error_type(failure.kind);
            ("failed", Some((kind, failure.message.clone())))
        }
        Outcome::Rejected { why, .. } => {
            let says = why.clone().unwrap_or_else(|| "a person said no".to_owned());
            ("rejected", Some(("rejected", says)))
        }
        Outcome::Aborted { why, .. } => {
            let word = outcome.word();
            let says = why.clone().unwrap_or_else(|| format!("the run {word}"));
            (word, Some((word, says)))
        }
    }
}

fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Proceed | Answer::ProceedWith { .. } => "proceed",
        Answer::Reject => "reject",
        Answer::Retry => "retry",
        Answer::Skip { .. } => "skip",
        Answer::Extend { .. } => "extend",
    }
}
