//! Open spans, run by run: the start times of spans that have not ended.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use tramline_expr::Value;
use tramline_workflow::ids::{NodeIx, RunId, Seq, StepNo, ToolName};
use tramline_workflow::journal::{Entry, Event, FanOutItem, RunEvent, SopEvent};
use tramline_workflow::trace_context::TraceContext;

/// Most runs with open spans in memory; the oldest are dropped first. Spans of a dropped run are exported with a
/// duration of zero.
const RUNS_MAX: usize = 4_096;

/// The open spans of one run.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    /// The last event that is known.
    pub(super) seq: Seq,
    pub(super) steps: HashMap<StepNo, OpenStep>,
    /// Open pauses, by position in the journal: their kind and start time.
    pub(super) pauses: HashMap<Seq, (&'static str, i64)>,
}

/// A step that has started.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpenStep {
    pub(super) node: NodeIx,
    pub(super) since_ms: i64,
    pub(super) item: Option<FanOutItem>,
    /// Its latest attempt, and since when that is in flight.
    pub(super) attempt: u32,
    pub(super) calling_ms: Option<i64>,
    /// Its arguments, if content is exported.
    pub(super) arguments: Value,
    /// The tool, in an SOP session: there is no node that names it.
    pub(super) tool: Option<ToolName>,
    /// The caller, in an SOP session: each call may have another one.
    pub(super) upstream: Option<Box<TraceContext>>,
}

impl OpenSpans {
    /// Applies an event. Events arrive in order, except for those of dropped runs.
    pub(super) fn apply(&mut self, entry: &Entry, content: bool) {
        self.seq = self.seq.max(entry.seq);
        match &entry.event {
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt,
                arguments,
                of,
                ..
            }) => {
                let open = self.open_step(*step, *node, entry.at_ms);
                open.item = *of;
                open.attempt = *attempt;
                open.calling_ms = Some(entry.at_ms);
                if content && !arguments.is_null() {
                    open.arguments = arguments.clone();
                }
            }
            Event::Run(RunEvent::FannedOut { step, node, .. })
            | Event::Run(RunEvent::Waiting { step, node, .. }) => {
                self.open_step(*step, *node, entry.at_ms);
            }
            Event::Run(RunEvent::AttemptFailed { step, .. }) => {
                if let Some(open) = self.steps.get_mut(step) {
                    open.calling_ms = None;
                }
            }
            Event::Run(RunEvent::StepFinished { step, .. })
            | Event::Run(RunEvent::StepFailed { step, .. })
            | Event::Run(RunEvent::FannedIn { step, .. }) => {
                self.steps.remove(step);
            }
            Event::Run(RunEvent::Paused { pause }) => {
                self.pauses.insert(entry.seq, (pause.kind(), entry.at_ms));
            }
            Event::Run(RunEvent::Answered { pause, .. }) => {
                self.pauses.remove(pause);
            }
            // The process that made these calls is gone, and it is unknown when their answers arrived.
            Event::Run(RunEvent::Resumed { .. }) => {
                for open in self.steps.values_mut() {
                    open.calling_ms = None;
                }
            }
            // A call that needs approval is recorded by the run that asks for the approval and then makes the call.
            Event::Sop(SopEvent::ToolCalled(called)) if called.run.is_some() => {}
            Event::Sop(SopEvent::ToolCalled(called)) => {
                let open = self.open_step(called.call, NodeIx::default(), entry.at_ms);
                open.calling_ms = Some(entry.at_ms);
                open.tool = Some(called.tool.clone());
                open.upstream = called.upstream.clone();
                if content {
                    open.arguments = called.arguments.clone();
                }
            }
            Event::Sop(SopEvent::ToolAnswered(answered)) => {
                self.steps.remove(&answered.call);
            }
            Event::Run(RunEvent::Finished { .. }) => {
                self.steps.clear();
                self.pauses.clear();
            }
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::BreakpointsSet { .. }
                | RunEvent::GraphExtended { .. },
            )
            | Event::Sop(
                SopEvent::SopStarted(_)
                | SopEvent::Moved(_)
                | SopEvent::Noted(_)
                | SopEvent::Refused(_),
            ) => {}
        }
    }

    fn open_step(&mut self, step: StepNo, node: NodeIx, at_ms: i64) -> &mut OpenStep {
        self.steps.entry(step).or_insert(OpenStep {
            node,
            since_ms: at_ms,
            item: None,
            attempt: 1,
            calling_ms: None,
            arguments: Value::Null,
            tool: None,
            upstream: None,
        })
    }
}

/// The open spans of the most recently active runs.
#[derive(Default)]
pub(crate) struct OpenRuns(Mutex<OpenRunTable>);

#[derive(Default)]
struct OpenRunTable {
    runs: HashMap<RunId, OpenSpans>,
    /// In order of arrival; some are already removed.
    order: VecDeque<RunId>,
}

impl OpenRuns {
    /// Calls a function with the open spans of a run.
    pub(super) fn with<T>(&self, run: &RunId, work: impl FnOnce(&mut OpenSpans) -> T) -> T {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begun) = kept.runs.get_mut(run) {
            return work(begun);
        }
        kept.make_room();
        kept.order.push_back(run.clone());
        work(kept.runs.entry(run.clone()).or_default())
    }

    pub(super) fn forget(&self, run: &RunId) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.runs.remove(run);
    }
}

impl OpenRunTable {
    fn make_room(&mut self) {
        while self.runs.len() >= RUNS_MAX || self.order.len() >= 2 * RUNS_MAX {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.runs.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_whatever_is_begun() {
        let runs = OpenRuns::default();
        for number in 0..RUNS_MAX + 100 {
            let id: RunId = format!("run_{number}").parse().unwrap();
            runs.with(&id, |begun| begun.seq = 1);
        }
        for _ in 0..3 * RUNS_MAX {
            let id: RunId = "run_again".parse().unwrap();
            runs.with(&id, |_| ());
            runs.forget(&id);
        }
        let kept = runs.0.lock().unwrap();
        assert!(kept.runs.len() <= RUNS_MAX && kept.order.len() <= 2 * RUNS_MAX);
    }
}
