//! The steps of a run in a compact form, so that runs with many thousands of steps load quickly.

use serde::{Serialize, Serializer};
use std::collections::HashMap;
use tramline_expr::Str;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::{Answer, Entry, Event, Pause, RunEvent};

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
    steps: Vec<StepSpan>,
    nodes: Vec<Str>,
    span_indexes: HashMap<StepNo, usize>,
    /// The steps that pauses ask about, by the position of the pause.
    pause_steps: HashMap<u64, StepNo>,
    before_ms: i64,
}

impl Timeline {
    /// The steps of a journal after a step number, at most `most`.
    pub fn of(entries: &[Entry], after: StepNo, most: usize) -> Self {
        let mut writer = TimelineBuilder::default();
        for entry in entries {
            writer.add(entry);
            writer.before_ms = entry.at_ms;
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
            nodes: writer.nodes,
        }
    }
}

impl TimelineBuilder {
    fn span(&mut self, step: StepNo, node: u32, started_ms: i64) -> &mut StepSpan {
        let steps = &mut self.steps;
        let place = *self.span_indexes.entry(step).or_insert_with(|| {
            steps.push(StepSpan {
                step,
                node,
                code: StepStatusCode::Open,
                started_ms,
                duration_ms: None,
                attempts: 1,
                item: None,
            });
            steps.len() - 1
        });
        &mut self.steps[place]
    }

    fn finish_span(&mut self, step: StepNo, node: u32, at_ms: i64, code: StepStatusCode) {
        // A step that only computes has no start event: it started when the previous event
        // happened.
        let began = self.before_ms;
        let bar = self.span(step, node, began);
        bar.duration_ms = Some((at_ms - bar.started_ms).max(0));
        bar.code = code;
        self.span_indexes.remove(&step);
    }

    fn add(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        match &entry.event {
            Event::Run(RunEvent::Started(started)) => {
                let nodes = started.workflow.nodes.iter();
                self.nodes = nodes.map(|node| node.id.clone()).collect();
            }
            Event::Run(RunEvent::GraphExtended { patch, .. }) => {
                self.nodes
                    .extend(patch.nodes.iter().map(|node| node.id.clone()));
            }
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt,
                of,
                ..
            }) => {
                let bar = self.span(*step, node.0, at_ms);
                bar.attempts = *attempt;
                bar.item = bar.item.or(of.map(|item| item.index));
            }
            Event::Run(RunEvent::FannedOut { step, node, .. }) => {
                self.span(*step, node.0, at_ms);
            }
            Event::Run(RunEvent::Waiting { step, node, .. }) => {
                self.span(*step, node.0, at_ms).code = StepStatusCode::Waiting;
            }
            Event::Run(RunEvent::StepFinished { step, node, .. })
            | Event::Run(RunEvent::FannedIn { step, node }) => {
                self.finish_span(*step, node.0, at_ms, StepStatusCode::Succeeded);
            }
            Event::Run(RunEvent::StepFailed { step, node, .. }) => {
                self.finish_span(*step, node.0, at_ms, StepStatusCode::Failed);
            }
            Event::Run(RunEvent::Paused {
                pause: Pause::InDoubt { step, .. } | Pause::Child { step, .. },
            }) => {
                self.pause_steps.insert(entry.seq, *step);
            }
            Event::Run(RunEvent::Answered {
                pause,
                answer: Answer::Skip { .. },
                ..
            }) => {
                let step = self.pause_steps.get(pause).copied();
                if let Some(place) = step.and_then(|step| self.span_indexes.get(&step)) {
                    let bar = self.steps[*place];
                    self.finish_span(bar.step, bar.node, at_ms, StepStatusCode::Succeeded);
                }
            }
            Event::Run(
                RunEvent::Resumed { .. }
                | RunEvent::AttemptFailed { .. }
                | RunEvent::Paused { .. }
                | RunEvent::Answered { .. }
                | RunEvent::BreakpointsSet { .. }
                | RunEvent::Finished { .. },
            )
            | Event::Sop(_) => {}
        }
    }
}
