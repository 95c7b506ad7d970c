//! Follows the steps of a run through its journal. Every other view of steps renders what this fold
//! yields.

use std::collections::HashMap;
use std::fmt;
use tramline_expr::{Str, Value};
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::failure::Failure;
use tramline_workflow::graph::Patch;
use tramline_workflow::ids::{NodeIx, Seq, StepNo};
use tramline_workflow::journal::{
    Answer, BreakpointSet, Entry, Event, FanOutItem, Outcome, Pause, RunEvent, RunStarted,
};

/// A step that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackedStep {
    /// The step number.
    pub step: StepNo,
    /// The node.
    pub node: NodeIx,
    /// The fan-out item it is for.
    pub item: Option<FanOutItem>,
    /// When it started, in milliseconds since 1970.
    pub since_ms: i64,
    /// The latest attempt, from 1.
    pub attempt: u32,
    /// Since when the latest attempt is in flight in the process that drives the run.
    pub calling_ms: Option<i64>,
    /// Whether a call that must not be repeated was announced and has no recorded result.
    pub is_unconfirmed: bool,
}

/// A pause that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPause {
    /// Its position in the journal.
    pub seq: Seq,
    /// Its kind as shown to users.
    pub kind: &'static str,
    /// When it was appended, in milliseconds since 1970.
    pub since_ms: i64,
    /// The node it concerns.
    pub node: Option<NodeIx>,
    /// The open step it concerns.
    pub step: Option<StepNo>,
}

/// What an event means for the run and its steps.
#[derive(Debug)]
pub enum Update<'e> {
    /// The run started.
    Started(&'e RunStarted),
    /// A step started, or makes another attempt.
    StepStarted {
        /// The step, including this attempt.
        step: TrackedStep,
        /// Whether it is the first event of the step.
        is_first: bool,
        /// What the step is doing.
        activity: Activity<'e>,
    },
    /// An attempt failed, and the step is still open.
    AttemptFailed {
        /// The step number.
        number: StepNo,
        /// The step before the failure; `None` if its start is unknown.
        step: Option<TrackedStep>,
        /// Why it failed.
        failure: &'e Failure,
        /// The backoff before the next attempt, in milliseconds.
        wait_ms: u64,
        /// Whether the call may have happened.
        in_doubt: bool,
    },
    /// A step ended.
    StepEnded {
        /// The step. One that only computes started at the time of the event before.
        step: TrackedStep,
        /// Whether its start was an event of its own.
        is_announced: bool,
        /// How it ended.
        end: StepEnd<'e>,
    },
    /// The run paused.
    Paused(&'e Pause),
    /// A pause was answered.
    Answered(PauseResponse<'e>),
    /// The run was changed from outside.
    Changed(Change<'e>),
    /// The run ended.
    Finished {
        /// How it ended.
        outcome: &'e Outcome,
        /// The steps that were open.
        steps: Vec<TrackedStep>,
        /// The pauses that were open.
        pauses: Vec<OpenPause>,
    },
}

/// What a step does while it is open.
#[derive(Clone, Copy, Debug)]
pub enum Activity<'e> {
    /// It calls a tool.
    Call {
        /// The arguments; null for further attempts.
        arguments: &'e Value,
        /// Whether the call may be repeated when it is unknown whether it happened.
        repeatable: bool,
    },
    /// It makes its call once for each of these items.
    FanOut(&'e Value),
    /// It waits until this time, in milliseconds since 1970.
    Wait(i64),
}

/// How a step ended.
#[derive(Clone, Copy, Debug)]
pub enum StepEnd<'e> {
    /// It succeeded.
    Finished {
        /// The label it picked, if not the default one.
        label: Option<&'e Str>,
        /// The output.
        output: &'e Value,
    },
    /// Every item of a fan-out ended.
    FannedIn,
    /// It failed after its last attempt.
    Failed(&'e Failure),
}

impl StepEnd<'_> {
    /// The status of the step.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Finished { .. } | Self::FannedIn => "succeeded",
            Self::Failed(_) => "failed",
        }
    }
}

/// The answer to a pause.
#[derive(Debug)]
pub struct PauseResponse<'e> {
    /// The position of the pause in the journal.
    pub seq: Seq,
    /// The pause; `None` if it is unknown.
    pub pause: Option<OpenPause>,
    /// The answer.
    pub answer: &'e Answer,
    /// Who answered.
    pub by: &'e Str,
    /// The reason given.
    pub why: Option<&'e str>,
    /// The channel of the answer.
    pub via: Option<AnswerChannel>,
    /// The step that the answer ended, with the output to assume for it.
    pub skipped: Option<(TrackedStep, &'e Value)>,
}

/// A change of a run from outside; displays as a sentence.
#[derive(Debug)]
pub struct Change<'e> {
    /// Who made it.
    pub by: &'e Str,
    kind: ChangeKind<'e>,
}

#[derive(Debug)]
enum ChangeKind<'e> {
    TakenOver,
    Breakpoints(&'e BreakpointSet),
    Extended(&'e Patch),
}

impl Change<'_> {
    /// The name of the event in summaries.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ChangeKind::TakenOver => "resumed",
            ChangeKind::Breakpoints(_) => "watched",
            ChangeKind::Extended(_) => "amended",
        }
    }

    /// Whether a process took over the run.
    pub fn is_take_over(&self) -> bool {
        matches!(self.kind, ChangeKind::TakenOver)
    }
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.by;
        match self.kind {
            ChangeKind::TakenOver => write!(f, "{by} resumed the run"),
            ChangeKind::Breakpoints(set) => write!(f, "{by} set {} breakpoints", set.breaks.len()),
            ChangeKind::Extended(patch) => write!(f, "{by} added {} nodes", patch.nodes.len()),
        }
    }
}

/// The open steps and pauses of a run.
#[derive(Clone, Debug, Default)]
pub struct StepTracker {
    /// The last event, and when it happened.
    last: (Seq, i64),
    steps: HashMap<StepNo, TrackedStep>,
    pauses: HashMap<Seq, OpenPause>,
}

impl StepTracker {
    /// The position of the last event.
    pub fn seq(&self) -> Seq {
        self.last.0
    }

    /// Follows the next event; `None` for an event of an SOP session.
    pub fn follow<'e>(&mut self, entry: &'e Entry) -> Option<Update<'e>> {
        let Event::Run(event) = &entry.event else {
            return None;
        };
        let update = self.update(entry, event);
        self.last = (self.last.0.max(entry.seq), entry.at_ms);
        Some(update)
    }

    fn update<'e>(&mut self, entry: &Entry, event: &'e RunEvent) -> Update<'e> {
        let changed = |by, kind| Update::Changed(Change { by, kind });
        match event {
            RunEvent::Started(started) => Update::Started(started),
            RunEvent::Resumed { by } => {
                // The process that made the calls is gone.
                for open in self.steps.values_mut() {
                    open.calling_ms = None;
                }
                changed(by, ChangeKind::TakenOver)
            }
            RunEvent::StepStarted {
                step,
                node,
                attempt,
                arguments,
                repeatable,
                of,
            } => {
                let (repeatable, at_ms) = (*repeatable, entry.at_ms);
                let activity = Activity::Call {
                    arguments,
                    repeatable,
                };
                self.step_started(*step, *node, at_ms, activity, |open| {
                    open.item = open.item.or(*of);
                    open.attempt = *attempt;
                    open.calling_ms = Some(at_ms);
                    open.is_unconfirmed |= !repeatable;
                })
            }
            RunEvent::FannedOut { step, node, items } => {
                self.step_started(*step, *node, entry.at_ms, Activity::FanOut(items), |_| {})
            }
            RunEvent::Waiting {
                step,
                node,
                until_ms,
            } => self.step_started(*step, *node, entry.at_ms, Activity::Wait(*until_ms), |_| {}),
            RunEvent::AttemptFailed {
                step,
                failure,
                wait_ms,
                in_doubt,
            } => {
                let before = self.steps.get(step).copied();
                if let Some(open) = self.steps.get_mut(step) {
                    open.calling_ms = None;
                    // Without doubt the failure is the result of the call.
                    open.is_unconfirmed &= *in_doubt;
                }
                Update::AttemptFailed {
                    number: *step,
                    step: before,
                    failure,
                    wait_ms: *wait_ms,
                    in_doubt: *in_doubt,
                }
            }
            RunEvent::FannedIn { step, node } => self.step_ended(*step, *node, StepEnd::FannedIn),
            RunEvent::StepFinished {
                step,
                node,
                label,
                output,
            } => {
                let label = label.as_ref();
                self.step_ended(*step, *node, StepEnd::Finished { label, output })
            }
            RunEvent::StepFailed {
                step,
                node,
                failure,
            } => self.step_ended(*step, *node, StepEnd::Failed(failure)),
            RunEvent::Paused { pause } => {
                let open = OpenPause {
                    seq: entry.seq,
                    kind: pause.kind(),
                    since_ms: entry.at_ms,
                    node: pause.node(),
                    step: pause.step(),
                };
                self.pauses.insert(entry.seq, open);
                Update::Paused(pause)
            }
            RunEvent::Answered {
                pause,
                answer,
                by,
                why,
                via,
            } => {
                let seq = *pause;
                let pause = self.pauses.remove(&seq);
                let skipped = match answer {
                    Answer::Skip { output } => pause
                        .and_then(|asked| self.steps.remove(&asked.step?))
                        .map(|step| (step, output)),
                    Answer::Proceed
                    | Answer::ProceedWith { .. }
                    | Answer::Reject
                    | Answer::Retry
                    | Answer::Submit { .. }
                    | Answer::Decline
                    | Answer::Cancel
                    | Answer::TimeOut
                    | Answer::Extend { .. } => None,
                };
                Update::Answered(PauseResponse {
                    seq,
                    pause,
                    answer,
                    by,
                    why: why.as_deref(),
                    via: *via,
                    skipped,
                })
            }
            RunEvent::BreakpointsSet { watch, by } => changed(by, ChangeKind::Breakpoints(watch)),
            RunEvent::GraphExtended { patch, by } => changed(by, ChangeKind::Extended(patch)),
            RunEvent::Finished { outcome } => Update::Finished {
                outcome,
                steps: self.steps.drain().map(|(_, open)| open).collect(),
                pauses: self.pauses.drain().map(|(_, open)| open).collect(),
            },
        }
    }

    fn step_started<'e>(
        &mut self,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        activity: Activity<'e>,
        change: impl FnOnce(&mut TrackedStep),
    ) -> Update<'e> {
        let is_first = !self.steps.contains_key(&step);
        let open = self.steps.entry(step);
        let open = open.or_insert_with(|| new_step(step, node, at_ms));
        change(open);
        Update::StepStarted {
            step: *open,
            is_first,
            activity,
        }
    }

    fn step_ended<'e>(&mut self, step: StepNo, node: NodeIx, end: StepEnd<'e>) -> Update<'e> {
        let open = self.steps.remove(&step);
        Update::StepEnded {
            // A step that only computes has no start event: it started when the event before it
            // happened.
            step: open.unwrap_or_else(|| new_step(step, node, self.last.1)),
            is_announced: open.is_some(),
            end,
        }
    }
}

fn new_step(step: StepNo, node: NodeIx, since_ms: i64) -> TrackedStep {
    TrackedStep {
        step,
        node,
        item: None,
        since_ms,
        attempt: 1,
        calling_ms: None,
        is_unconfirmed: false,
    }
}

/// The ids of a run's nodes, also of those that were added later.
#[derive(Clone, Debug, Default)]
pub struct NodeNames(Vec<Str>);

impl NodeNames {
    /// Follows an update.
    pub fn follow(&mut self, update: &Update<'_>) {
        let added = match update {
            Update::Started(started) => &started.workflow.nodes,
            Update::Changed(Change {
                kind: ChangeKind::Extended(patch),
                ..
            }) => &patch.nodes,
            Update::StepStarted { .. }
            | Update::AttemptFailed { .. }
            | Update::StepEnded { .. }
            | Update::Paused(_)
            | Update::Answered(_)
            | Update::Changed(_)
            | Update::Finished { .. } => return,
        };
        self.0.extend(added.iter().map(|node| node.id.clone()));
    }

    /// The id of a node.
    pub fn get(&self, node: NodeIx) -> Option<&Str> {
        self.0.get(node.index())
    }

    /// All ids, by index.
    pub fn into_vec(self) -> Vec<Str> {
        self.0
    }
}

#[cfg(test)]
mod tests;
