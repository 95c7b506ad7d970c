//! What has begun and not ended, run by run: when spans began whose ends are still to come.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use tramline_core::Value;
use tramline_core::ids::{NodeIx, RunId, Seq, StepNo, ToolName};
use tramline_core::journal::{Entry, Event, Item};
use tramline_core::upstream::Upstream;

/// So many runs are remembered, those touched last. What another run has begun is told as if it had
/// taken no time.
const RUNS_MAX: usize = 4_096;

/// What has begun in one run.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// The last event that is known.
    pub(super) seq: Seq,
    pub(super) steps: HashMap<StepNo, Step>,
    /// Questions, by their places: of what kind, and since when.
    pub(super) pauses: HashMap<Seq, (&'static str, i64)>,
}

/// A step that has begun.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) node: NodeIx,
    pub(super) since_ms: i64,
    pub(super) of: Option<Item>,
    /// Its latest attempt, and since when that is under way.
    pub(super) attempt: u32,
    pub(super) calling_ms: Option<i64>,
    /// What it is called with, where that is told.
    pub(super) arguments: Value,
    /// What is called, in a conversation: there are no nodes that would say so.
    pub(super) tool: Option<ToolName>,
    /// Who asked for it, in a conversation: there each call may have another caller.
    pub(super) upstream: Option<Box<Upstream>>,
}

impl Begun {
    /// Takes an event in. Events come in order, but for those that nobody remembers.
    pub(super) fn apply(&mut self, entry: &Entry, content: bool) {
        self.seq = self.seq.max(entry.seq);
        match &entry.event {
            Event::StepStarted {
                step,
                node,
                attempt,
                arguments,
                of,
                ..
            } => {
                let open = self.begin(*step, *node, entry.at_ms);
                open.of = *of;
                open.attempt = *attempt;
                open.calling_ms = Some(entry.at_ms);
                if content && !arguments.is_null() {
                    open.arguments = arguments.clone();
                }
            }
            Event::Spread { step, node, .. } | Event::Waiting { step, node, .. } => {
                self.begin(*step, *node, entry.at_ms);
            }
            Event::AttemptFailed { step, .. } => {
                if let Some(open) = self.steps.get_mut(step) {
                    open.calling_ms = None;
                }
            }
            Event::StepFinished { step, .. }
            | Event::StepFailed { step, .. }
            | Event::Gathered { step, .. } => {
                self.steps.remove(step);
            }
            Event::Paused { pause } => {
                self.pauses.insert(entry.seq, (pause.kind(), entry.at_ms));
            }
            Event::Answered { pause, .. } => {
                self.pauses.remove(pause);
            }
            // The process that made them is gone, and when their answers came nobody knows.
            Event::Resumed { .. } => {
                for open in self.steps.values_mut() {
                    open.calling_ms = None;
                }
            }
            // One that a person is asked about is told by the run that asks and then makes it.
            Event::ToolCalled(called) if called.run.is_some() => {}
            Event::ToolCalled(called) => {
                let open = self.begin(called.call, NodeIx::default(), entry.at_ms);
                open.calling_ms = Some(entry.at_ms);
                open.tool = Some(called.tool.clone());
                open.upstream = called.upstream.clone();
                if content {
                    open.arguments = called.arguments.clone();
                }
            }
            Event::ToolAnswered(answered) => {
                self.steps.remove(&answered.call);
            }
            Event::Finished { .. } => {
                self.steps.clear();
                self.pauses.clear();
            }
            Event::Started(_)
            | Event::Watched { .. }
            | Event::Amended { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::Refused(_) => {}
        }
    }

    fn begin(&mut self, step: StepNo, node: NodeIx, at_ms: i64) -> &mut Step {
        self.steps.entry(step).or_insert(Step {
            node,
            since_ms: at_ms,
            of: None,
            attempt: 1,
            calling_ms: None,
            arguments: Value::Null,
            tool: None,
            upstream: None,
        })
    }
}

/// What has begun in the runs that were touched last.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    runs: HashMap<RunId, Begun>,
    /// In the order they came; some are forgotten since.
    order: VecDeque<RunId>,
}

impl Runs {
    /// Does something with what has begun in a run.
    pub(super) fn with<T>(&self, run: &RunId, work: impl FnOnce(&mut Begun) -> T) -> T {
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

impl Kept {
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
        let runs = Runs::default();
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
