//! The journal: the ordered events of a run, and the only source of truth about it.
//!
//! A run's state is a fold over these events ([`Run::apply`](crate::run::Run::apply)). A step that
//! only computes is recorded once, when it finishes. A step that makes a call is recorded before
//! the call is sent, so that after a crash the journal shows which calls may have been sent.

use crate::authority::AnswerChannel;
use crate::failure::Failure;
use crate::graph::Patch;
use crate::ids::{NodeIx, Seq, StepNo};
use serde::{Deserialize, Serialize};
use std::fmt;
use tramline_expr::{Str, Value};

mod budget;
mod codec;
mod content_digest;
mod event_tag;
mod pause;
mod proposed_call;
mod sop_event;
mod started;

pub use budget::{Budget, BudgetPart};
pub use codec::{
    DecodeError, EVENT_BYTES_MAX, EventTooLarge, FirstEvent, decode, decode_first_event, encode,
    encode_with_digests, skip_lines,
};
pub use content_digest::{ContentDigest, DocumentRef, InvalidDigest, StoredDocument};
pub use pause::{Answer, EXPIRY, Outcome, Pause};
pub use proposed_call::{Annotations, ProposedBatch, ProposedCall, SettingVersions};
pub use sop_event::operands_value;
pub use sop_event::{
    CallingStep, CarriedCall, CarriedState, CheckedRule, GuardEvaluation, MoveKind, RefusedRequest,
    RequestKind, SessionNote, SopMove, SopPosition, SopStarted, ToolAnswered, ToolCalled,
};
pub use started::{
    AgentRun, BreakpointSet, FanOutItem, ForkOrigin, NodeBreakpoint, ParentStep, RunStarted,
    SchedulePolicy,
};

/// An event with its position and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The position, counted from 1 without gaps.
    pub seq: Seq,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// What happened.
    pub event: Event,
}

/// An event that cannot follow the events before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEvent {
    /// The position of the event.
    pub seq: Seq,
    /// Why it is invalid.
    pub message: String,
}

impl fmt::Display for InvalidEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {} cannot follow the journal before it: {}",
            self.seq, self.message
        )
    }
}

impl std::error::Error for InvalidEvent {}

/// What can happen in a journal: in the run of a workflow, or in an SOP session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// An event of a run. An SOP session also ends with [`RunEvent::Finished`].
    Run(RunEvent),
    /// An event of an SOP session.
    Sop(SopEvent),
}

impl From<RunEvent> for Event {
    fn from(event: RunEvent) -> Self {
        Self::Run(event)
    }
}

impl From<SopEvent> for Event {
    fn from(event: SopEvent) -> Self {
        Self::Sop(event)
    }
}

impl Event {
    /// How the run or the session ended, if this is its last event.
    pub fn outcome(&self) -> Option<&Outcome> {
        let Self::Run(RunEvent::Finished { outcome }) = self else {
            return None;
        };
        Some(outcome)
    }

    /// The patch and who made it, if the graph was extended.
    pub fn patch(&self) -> Option<(&Patch, &Str)> {
        let Self::Run(RunEvent::GraphExtended { patch, by }) = self else {
            return None;
        };
        Some((patch, by))
    }

    /// The position of the pause that it answers.
    pub fn answered_pause(&self) -> Option<Seq> {
        let Self::Run(RunEvent::Answered { pause, .. }) = self else {
            return None;
        };
        Some(*pause)
    }

    /// The role of an event of a run.
    pub fn role(&self) -> Option<EventRole> {
        match self {
            Self::Run(event) => Some(event.role()),
            Self::Sop(_) => None,
        }
    }

    /// Whether it is a command, which any process may append.
    pub fn is_command(&self) -> bool {
        self.role() == Some(EventRole::Command)
    }

    /// The step it ends, with its node.
    pub fn ended_step(&self) -> Option<(StepNo, NodeIx)> {
        let Some(EventRole::StepEnd { step, node, .. }) = self.role() else {
            return None;
        };
        Some((step, node))
    }
}

/// The role of an event in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRole {
    /// The run starts.
    Start,
    /// A process takes over the run.
    TakeOver,
    /// A step starts, or makes another attempt.
    StepStart {
        /// The step number.
        step: StepNo,
        /// Whether it announces a call; otherwise it fans out or waits.
        is_call: bool,
    },
    /// An attempt of a step failed.
    AttemptFailed {
        /// The step number.
        step: StepNo,
        /// Whether the call may have happened.
        in_doubt: bool,
    },
    /// A step ends.
    StepEnd {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// Whether it only collects the outputs of a fan-out's items.
        is_fan_in: bool,
    },
    /// The run pauses.
    Pause {
        /// The open step that the pause is about.
        step: Option<StepNo>,
    },
    /// A command, which any process may append. All others come from the driver.
    Command,
}

impl EventRole {
    /// The step it belongs to.
    pub fn step(self) -> Option<StepNo> {
        match self {
            Self::StepStart { step, .. }
            | Self::AttemptFailed { step, .. }
            | Self::StepEnd { step, .. } => Some(step),
            Self::Pause { step } => step,
            Self::Start | Self::TakeOver | Self::Command => None,
        }
    }
}

/// What can happen in a run. Closed: a new event must break the build where it matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RunEvent {
    /// The run started. Always the first event, and only the first.
    Started(Box<RunStarted>),
    /// A process took over the run; calls open at this point are in doubt.
    Resumed {
        /// The process that took over.
        by: Str,
    },
    /// A call is about to be sent.
    StepStarted {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// The attempt, from 1.
        attempt: u32,
        /// The arguments of the call.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        /// Whether the call may be repeated when it is unknown whether it happened.
        repeatable: bool,
        /// The item it is made for, if the call fans out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<FanOutItem>,
    },
    /// A step fans out: its call is made once for each item.
    #[serde(rename = "Spread")]
    FannedOut {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// The items, an array.
        items: Value,
    },
    /// Every item of a step is finished: its output is the list of their outputs.
    #[serde(rename = "Gathered")]
    FannedIn {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
    },
    /// A step waits for a point in time.
    Waiting {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// When the wait ends, in milliseconds since 1970.
        until_ms: i64,
    },
    /// An attempt failed, and a retry or a question to a person follows.
    AttemptFailed {
        /// The step number.
        step: StepNo,
        /// Why it failed.
        failure: Failure,
        /// The backoff before the next attempt, in milliseconds.
        wait_ms: u64,
        /// Whether the call may have happened, so that a person must decide before it is repeated.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_doubt: bool,
    },
    /// A step succeeded.
    StepFinished {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// The label it picked, if not the default one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Str>,
        /// The output.
        output: Value,
    },
    /// A step failed after its last attempt.
    StepFailed {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// Why it failed.
        failure: Failure,
    },
    /// The run paused and waits for an answer.
    Paused {
        /// Why it paused.
        pause: Pause,
    },
    /// A pause was answered.
    Answered {
        /// The position of the pause in the journal.
        pause: Seq,
        /// The answer.
        answer: Answer,
        /// Who answered.
        by: Str,
        /// The reason given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The channel of the answer; journals written by earlier versions do not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<AnswerChannel>,
    },
    /// The breakpoints were replaced.
    #[serde(rename = "Watched")]
    BreakpointsSet {
        /// The new breakpoints.
        watch: BreakpointSet,
        /// Who set them.
        by: Str,
    },
    /// The graph was extended.
    #[serde(rename = "Amended")]
    GraphExtended {
        /// The nodes and edges added.
        patch: Patch,
        /// Who extended it.
        by: Str,
    },
    /// The run ended. Always the last event.
    Finished {
        /// How it ended.
        outcome: Outcome,
    },
}

impl RunEvent {
    /// The role of the event.
    pub fn role(&self) -> EventRole {
        let start = |step: &StepNo, is_call| EventRole::StepStart {
            step: *step,
            is_call,
        };
        let end = |step: &StepNo, node: &NodeIx, is_fan_in| EventRole::StepEnd {
            step: *step,
            node: *node,
            is_fan_in,
        };
        match self {
            RunEvent::Started(_) => EventRole::Start,
            RunEvent::Resumed { .. } => EventRole::TakeOver,
            RunEvent::StepStarted { step, .. } => start(step, true),
            RunEvent::FannedOut { step, .. } | RunEvent::Waiting { step, .. } => start(step, false),
            RunEvent::AttemptFailed { step, in_doubt, .. } => EventRole::AttemptFailed {
                step: *step,
                in_doubt: *in_doubt,
            },
            RunEvent::StepFinished { step, node, .. } | RunEvent::StepFailed { step, node, .. } => {
                end(step, node, false)
            }
            RunEvent::FannedIn { step, node } => end(step, node, true),
            RunEvent::Paused { pause } => EventRole::Pause { step: pause.step() },
            RunEvent::Answered { .. }
            | RunEvent::BreakpointsSet { .. }
            | RunEvent::GraphExtended { .. }
            | RunEvent::Finished { .. } => EventRole::Command,
        }
    }

    /// Whether it says that a process took over; journals of SOP sessions may contain it too.
    pub fn is_take_over(&self) -> bool {
        matches!(self, Self::Resumed { .. })
    }
}

/// What can happen in an SOP session, beside its end. Closed, like [`RunEvent`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SopEvent {
    /// An SOP session started. Always the first event, and only the first.
    #[serde(rename = "Guided")]
    SopStarted(Box<SopStarted>),
    /// An SOP session moved to a node.
    Moved(Box<SopMove>),
    /// An SOP session recorded slots or tasks.
    Noted(Box<SessionNote>),
    /// A call of an SOP session is about to be sent.
    ToolCalled(Box<ToolCalled>),
    /// A call of an SOP session finished.
    ToolAnswered(Box<ToolAnswered>),
    /// An SOP session refused a move or a call.
    Refused(Box<RefusedRequest>),
}
