//! Conversations along a procedure: each call that passed the gate is a span.
//!
//! A conversation has no end that could be told, so its calls stand side by side: in the trace of
//! whoever asked for them, else in one of the conversation's own.

use super::steps::Called;
use super::{Watch, of_run};
use crate::ids::Ids;
use tramline_core::journal::{Entry, Event, ToolAnswered};
use tramline_core::navigate::Walk;

impl Watch {
    pub(super) fn conversed(&self, walk: &Walk, entries: &[Entry]) {
        let run = walk.id.as_str();
        for entry in entries {
            match &entry.event {
                Event::ToolCalled(called) => {
                    tracing::debug!(target: "tramline::sop", run, tool = %called.tool, "a call leaves");
                }
                Event::ToolAnswered(answered) => self.answered(walk, entry.at_ms, answered),
                Event::Moved(_) => tracing::debug!(target: "tramline::sop", run, "moved"),
                Event::Refused(_) => tracing::info!(target: "tramline::sop", run, "refused"),
                Event::Guided(_)
                | Event::Noted(_)
                | Event::Started(_)
                | Event::Resumed { .. }
                | Event::StepStarted { .. }
                | Event::Spread { .. }
                | Event::Gathered { .. }
                | Event::Waiting { .. }
                | Event::AttemptFailed { .. }
                | Event::StepFinished { .. }
                | Event::StepFailed { .. }
                | Event::Paused { .. }
                | Event::Answered { .. }
                | Event::Watched { .. }
                | Event::Amended { .. }
                | Event::Finished { .. } => {}
            }
            self.runs
                .with(&walk.id, |begun| begun.apply(entry, self.content));
        }
    }

    fn answered(&self, walk: &Walk, at_ms: i64, answered: &ToolAnswered) {
        let open = self
            .runs
            .with(&walk.id, |begun| begun.steps.get(&answered.call).cloned());
        let Some(open) = open else {
            return;
        };
        let Some(tool) = &open.tool else {
            return;
        };
        let ids = Ids::of(&walk.id);
        let place = self.place(ids, open.upstream.as_deref());
        let came = match &answered.failure {
            None => Ok(&answered.output),
            Some(failure) => Err(failure),
        };
        let called = Called {
            id: ids.attempt(answered.call, 1),
            within: place.within,
            tool,
            arguments: &open.arguments,
            during_ms: (open.since_ms, at_ms),
        };
        if let Some(mut span) = self.call(&place, &called, &came) {
            of_run(&mut span, &walk.id);
            self.push(span);
        }
    }
}
