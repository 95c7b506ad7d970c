//! SOP sessions: each call that passed the gate is a span.
//!
//! A session has no end event, so its calls are siblings: in the trace of their caller, or else in a trace of the
//! session.

use super::open_spans::OpenSpans;
use super::steps::EndedCall;
use super::{TelemetryObserver, set_run_attributes};
use crate::ids::SpanIds;
use tramline_sop::SopSession;
use tramline_workflow::journal::{Entry, Event, SopEvent, ToolAnswered};

impl TelemetryObserver {
    pub(super) fn record_sop_events(&self, walk: &SopSession, entries: &[Entry]) {
        let run = walk.id.as_str();
        for entry in entries {
            match &entry.event {
                Event::Sop(SopEvent::ToolCalled(called)) => {
                    tracing::debug!(target: "tramline::sop", run, tool = %called.tool, "call sent");
                    let open = |begun: &mut OpenSpans| {
                        begun.open_call(called, entry.at_ms, self.capture_content);
                    };
                    self.open_runs.with(&walk.id, open);
                }
                Event::Sop(SopEvent::ToolAnswered(answered)) => {
                    self.record_answer(walk, entry.at_ms, answered)
                }
                Event::Sop(SopEvent::Moved(_)) => {
                    tracing::debug!(target: "tramline::sop", run, "moved")
                }
                Event::Sop(SopEvent::Refused(_)) => {
                    tracing::info!(target: "tramline::sop", run, "refused")
                }
                Event::Run(_) | Event::Sop(SopEvent::SopStarted(_) | SopEvent::Noted(_)) => {}
            }
        }
    }

    fn record_answer(&self, walk: &SopSession, at_ms: i64, answered: &ToolAnswered) {
        let open = self
            .open_runs
            .with(&walk.id, |begun| begun.close_call(answered.call));
        let Some(open) = open else {
            return;
        };
        let ids = SpanIds::of(&walk.id);
        let place = self.context_of_run(ids, open.upstream.as_deref());
        let came = match &answered.failure {
            None => Ok(&answered.output),
            Some(failure) => Err(failure),
        };
        let called = EndedCall {
            id: ids.attempt(answered.call, 1),
            parent: place.parent,
            tool: &open.tool,
            arguments: &open.arguments,
            during_ms: (open.since_ms, at_ms),
        };
        if let Some(mut span) = self.call(&place, &called, &came) {
            set_run_attributes(&mut span, &walk.id);
            self.push(span);
        }
    }
}
