//! The steps of a run in a compact form, so that runs with many thousands of steps load quickly.

use crate::step_tracker::{Activity, NodeNames, StepEnd, StepTracker, TrackedStep, Update};
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use tramline_expr::Str;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::Entry;

/// The status of a step, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatusCode {
    /// It has started and not ended.
    Open = 0,
    /// It succeeded.
    Succeeded = 1,
    /// It failed.
    Failed = 2,
    /// It waits for a point in time.
    Waiting = 3,
}

/// A step in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSpan {
    /// The step number.
    pub step: StepNo,
    /// The index of its node in the list of nodes.
    pub node: u32,
    /// The status.
    pub code: StepStatusCode,
    /// When it started, in milliseconds since 1970.
    pub started_ms: i64,
    /// The duration in milliseconds.
    pub duration_ms: Option<i64>,
    /// The number of attempts.
    pub attempts: u32,
    /// The fan-out item it is for.
    pub item: Option<u32>,
}

impl Serialize for StepSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            step,
            node,
            code,
            started_ms,
            duration_ms,
            attempts,
            item,
        } = *self;
        let most = (step, node, code as u8, started_ms, duration_ms, attempts);
        match item {
            None => most.serialize(serializer),
            Some(item) => (
                step,
                node,
                code as u8,
                started_ms,
                duration_ms,
                attempts,
                item,
            )
                .serialize(serializer),
        }
    }
}

/// The steps of a run in the order they were decided.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// The steps.
    pub steps: Vec<StepSpan>,
    /// The ids of the nodes.
    pub nodes: Vec<Str>,
    /// The `after` value for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<StepNo>,
}

#[derive(Default)]
struct TimelineBuilder {
    tracker: StepTracker,
    names: NodeNames,
    steps: Vec<StepSpan>,
    span_indexes: HashMap<StepNo, usize>,
}

impl Timeline {
    /// The steps of a journal after a step number, at most `most`.
    pub fn of(entries: &[Entry], after: StepNo, most: usize) -> Self {
        let mut writer = TimelineBuilder::default();
        for entry in entries {
            writer.add(entry);
        }
        let mut steps = writer.steps;
        steps.sort_by_key(|bar| bar.step);
        let first = steps.partition_point(|bar| bar.step <= after);
        steps.drain(..first);
        let more = steps.len() > most;
        steps.truncate(most);
        Self {
            next: steps.last().filter(|_| more).map(|bar| bar.step),
            steps,
            nodes: writer.names.into_vec(),
        }
    }
}

impl TimelineBuilder {
    fn span(&mut self, from: &TrackedStep) -> &mut StepSpan {
        let steps = &mut self.steps;
        let place = *self.span_indexes.entry(from.step).or_insert_with(|| {
            steps.push(StepSpan {
                step: from.step,
                node: from.node.0,
                code: StepStatusCode::Open,
                started_ms: from.since_ms,
                duration_ms: None,
                attempts: 1,
                item: None,
            });
            steps.len() - 1
        });
        let span = &mut self.steps[place];
        span.attempts = from.attempt;
        span.item = from.item.map(|item| item.index);
        span
    }

    fn finish_span(&mut self, step: &TrackedStep, at_ms: i64, code: StepStatusCode) {
        let span = self.span(step);
        span.duration_ms = Some((at_ms - span.started_ms).max(0));
        span.code = code;
        self.span_indexes.remove(&step.step);
    }

    fn add(&mut self, entry: &Entry) {
        let Some(update) = self.tracker.follow(entry) else {
            return;
        };
        self.names.follow(&update);
        match update {
            Update::StepStarted { step, activity, .. } => {
                let span = self.span(&step);
                if let Activity::Wait(_) = activity {
                    span.code = StepStatusCode::Waiting;
                }
            }
            Update::StepEnded { step, end, .. } => {
                let code = match end {
                    StepEnd::Finished { .. } | StepEnd::FannedIn => StepStatusCode::Succeeded,
                    StepEnd::Failed(_) => StepStatusCode::Failed,
                };
                self.finish_span(&step, entry.at_ms, code);
            }
            Update::Answered(answered) => {
                if let Some((step, _)) = answered.skipped {
                    self.finish_span(&step, entry.at_ms, StepStatusCode::Succeeded);
                }
            }
            Update::Started(_)
            | Update::AttemptFailed { .. }
            | Update::Paused(_)
            | Update::Changed(_)
            | Update::Finished { .. } => {}
        }
    }
}
