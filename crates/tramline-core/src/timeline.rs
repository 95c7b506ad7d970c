//! The steps of a run as a few numbers each, so that a run of many thousands opens at once.

use crate::ids::StepNo;
use crate::journal::{Answer, Entry, Event, Pause};
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use tramline_expr::Str;

/// How a step stands, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It has begun and not ended.
    Open = 0,
    /// It succeeded.
    Succeeded = 1,
    /// It failed.
    Failed = 2,
    /// It lets time pass.
    Waiting = 3,
}

/// A step in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its number.
    pub step: StepNo,
    /// The place of its node in the list of nodes.
    pub node: u32,
    /// How it stands.
    pub code: Code,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// How many attempts it took.
    pub attempts: u32,
    /// Which item it is for.
    pub item: Option<u32>,
}

impl Serialize for Bar {
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
    pub steps: Vec<Bar>,
    /// The ids of the nodes.
    pub nodes: Vec<Str>,
    /// What to give as `after` for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<StepNo>,
}

#[derive(Default)]
struct Writer {
    steps: Vec<Bar>,
    nodes: Vec<Str>,
    places: HashMap<StepNo, usize>,
    /// What was asked about steps, by the question's place.
    doubted: HashMap<u64, StepNo>,
    before_ms: i64,
}

impl Timeline {
    /// The steps of a journal after a step, at most so many.
    pub fn of(entries: &[Entry], after: StepNo, most: usize) -> Self {
        let mut writer = Writer::default();
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

impl Writer {
    fn bar(&mut self, step: StepNo, node: u32, started_ms: i64) -> &mut Bar {
        let steps = &mut self.steps;
        let place = *self.places.entry(step).or_insert_with(|| {
            steps.push(Bar {
                step,
                node,
                code: Code::Open,
                started_ms,
                duration_ms: None,
                attempts: 1,
                item: None,
            });
            steps.len() - 1
        });
        &mut self.steps[place]
    }

    fn end(&mut self, step: StepNo, node: u32, at_ms: i64, code: Code) {
        // A step that only computes has no start of its own: it began when the one before ended.
        let began = self.before_ms;
        let bar = self.bar(step, node, began);
        bar.duration_ms = Some((at_ms - bar.started_ms).max(0));
        bar.code = code;
        self.places.remove(&step);
    }

    fn add(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        match &entry.event {
            Event::Started(started) => {
                let nodes = started.workflow.nodes.iter();
                self.nodes = nodes.map(|node| node.id.clone()).collect();
            }
            Event::Amended { patch, .. } => {
                self.nodes
                    .extend(patch.nodes.iter().map(|node| node.id.clone()));
            }
            Event::StepStarted {
                step,
                node,
                attempt,
                of,
                ..
            } => {
                let bar = self.bar(*step, node.0, at_ms);
                bar.attempts = *attempt;
                bar.item = bar.item.or(of.map(|item| item.index));
            }
            Event::Spread { step, node, .. } => {
                self.bar(*step, node.0, at_ms);
            }
            Event::Waiting { step, node, .. } => {
                self.bar(*step, node.0, at_ms).code = Code::Waiting;
            }
            Event::StepFinished { step, node, .. } | Event::Gathered { step, node } => {
                self.end(*step, node.0, at_ms, Code::Succeeded);
            }
            Event::StepFailed { step, node, .. } => {
                self.end(*step, node.0, at_ms, Code::Failed);
            }
            Event::Paused {
                pause: Pause::InDoubt { step, .. } | Pause::Child { step, .. },
            } => {
                self.doubted.insert(entry.seq, *step);
            }
            Event::Answered {
                pause,
                answer: Answer::Skip { .. },
                ..
            } => {
                let step = self.doubted.get(pause).copied();
                if let Some(place) = step.and_then(|step| self.places.get(&step)) {
                    let bar = self.steps[*place];
                    self.end(bar.step, bar.node, at_ms, Code::Succeeded);
                }
            }
            Event::Resumed { .. }
            | Event::AttemptFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_)
            | Event::Finished { .. } => {}
        }
    }
}
