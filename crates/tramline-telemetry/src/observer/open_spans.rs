//! Open spans, run by run: the start times of spans that have not ended.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use tramline_expr::Value;
use tramline_views::step_tracker::{Activity, StepTracker, Update};
use tramline_workflow::ids::{RunId, StepNo, ToolName};
use tramline_workflow::journal::{Entry, ToolCalled};
use tramline_workflow::trace_context::TraceContext;

/// Most runs with open spans in memory; the oldest are dropped first. Spans of a dropped run are exported with a
/// duration of zero.
const RUNS_MAX: usize = 4_096;

/// The open spans of one run or SOP session.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    pub(super) tracker: StepTracker,
    /// The arguments of open calls of a run, if content is exported.
    arguments: HashMap<StepNo, Value>,
    /// The open calls of an SOP session.
    calls: HashMap<u32, OpenCall>,
}

/// An open call of an SOP session.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) since_ms: i64,
    /// Its arguments, if content is exported.
    pub(super) arguments: Value,
    /// There is no node that names the tool.
    pub(super) tool: ToolName,
    /// The caller: each call may have another one.
    pub(super) upstream: Option<Box<TraceContext>>,
}

impl OpenSpans {
    /// Follows an event of a run. Events arrive in order, except for those of dropped runs.
    pub(super) fn follow<'e>(&mut self, entry: &'e Entry, content: bool) -> Option<Update<'e>> {
        let update = self.tracker.follow(entry)?;
        if content
            && let Update::StepStarted { step, activity, .. } = &update
            && let Activity::Call { arguments, .. } = activity
            && !arguments.is_null()
        {
            self.arguments.insert(step.step, Value::clone(arguments));
        }
        Some(update)
    }

    /// The arguments of a step's call, if content is exported. Removes them if the step has ended.
    pub(super) fn arguments(&mut self, step: StepNo, is_over: bool) -> Value {
        let kept = match is_over {
            true => self.arguments.remove(&step),
            false => self.arguments.get(&step).cloned(),
        };
        kept.unwrap_or_default()
    }

    /// A call of an SOP session was sent.
    pub(super) fn open_call(&mut self, called: &ToolCalled, at_ms: i64, content: bool) {
        // A call that needs approval is recorded by the run that asks for the approval and then makes the call.
        if called.run.is_some() {
            return;
        }
        let arguments = match content {
            true => called.arguments.clone(),
            false => Value::Null,
        };
        let open = OpenCall {
            since_ms: at_ms,
            arguments,
            tool: called.tool.clone(),
            upstream: called.upstream.clone(),
        };
        self.calls.insert(called.call, open);
    }

    /// Removes a call of an SOP session that was answered.
    pub(super) fn close_call(&mut self, call: u32) -> Option<OpenCall> {
        self.calls.remove(&call)
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
            runs.with(&id, |_| ());
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
