//! The journal: the ordered events of a run, and the only truth about it.
//!
//! A run's state is a fold of these events ([`Run::apply`](crate::run::Run::apply)). A step that
//! only computes is recorded once, when it is done; a step that calls out is announced first, so
//! that after a crash nobody has to guess whether the call left.

use crate::authority::AnswerChannel;
use crate::failure::Failure;
use crate::graph::Patch;
use crate::ids::{NodeIx, Seq, StepNo};
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

mod begin;
mod budget;
mod content;
mod guided;
mod lines;
mod proposed;
mod words;

pub use begin::{AgentRun, Break, Fork, Item, Parent, Policy, Started, Watch};
pub use budget::{Budget, Spent};
pub use content::{ContentDigest, DocumentRef, NoDigest, StoredDocument};
pub(crate) use guided::operands_value;
pub use guided::{
    Asked, CallingStep, Guided, Moved, Note, Refused, RuleChecked, Stand, ToolAnswered, ToolCalled,
    Way, Weighed,
};
pub use lines::{
    Beginning, EVENT_BYTES_MAX, TooLarge, Unreadable, decode, decode_beginning, encode,
    encode_named, skip_lines,
};
pub use proposed::{Annotations, ProposedBatch, ProposedCall};
pub use words::{Answer, EXPIRY, Outcome, Pause};

/// One event with its place and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place, counted from 1 without gaps.
    pub seq: Seq,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// What happened.
    pub event: Event,
}

/// What can happen in a run. Closed: a new event must break the build where it matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The run began. Always the first event, and only the first.
    Started(Box<Started>),
    /// A process took the run over; what was open before is in doubt from here on.
    Resumed {
        /// Which process.
        by: Str,
    },
    /// A call is about to leave.
    StepStarted {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// The attempt, from 1.
        attempt: u32,
        /// What it is called with.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        /// Whether the call may be repeated when nobody knows if it happened.
        repeatable: bool,
        /// The item it is made for, if the call is spread over several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Item>,
    },
    /// A step's call is to be made once for each of these items.
    Spread {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// The items, an array.
        items: Value,
    },
    /// Every item of a step is done: its output is the list of theirs.
    Gathered {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
    },
    /// A step lets time pass.
    Waiting {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// Until when, in milliseconds since 1970.
        until_ms: i64,
    },
    /// An attempt failed, and another one follows or somebody is asked.
    AttemptFailed {
        /// Which step.
        step: StepNo,
        /// Why.
        failure: Failure,
        /// How long to wait for the next attempt.
        wait_ms: u64,
        /// Whether the call may have happened and must not just be made again: somebody is asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_doubt: bool,
    },
    /// A step succeeded.
    StepFinished {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// The label it picked, if not the default one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Str>,
        /// What it gave.
        output: Value,
    },
    /// A step failed for good.
    StepFailed {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// Why.
        failure: Failure,
    },
    /// The run asks something and waits for the answer.
    Paused {
        /// What it asks.
        pause: Pause,
    },
    /// Somebody answered.
    Answered {
        /// The pause's place in the journal.
        pause: Seq,
        /// What they said.
        answer: Answer,
        /// Who.
        by: Str,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// By which channel; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<AnswerChannel>,
    },
    /// Somebody said where the run is to halt, in place of what was said before.
    Watched {
        /// Where.
        watch: Watch,
        /// Who.
        by: Str,
    },
    /// The graph was extended.
    Amended {
        /// By what.
        patch: Patch,
        /// By whom.
        by: Str,
    },
    /// A guided run began. Always the first event, and only the first.
    Guided(Box<Guided>),
    /// A guided run moved to a node.
    Moved(Box<Moved>),
    /// Something was written down in a guided run.
    Noted(Box<Note>),
    /// A call of a guided run is about to leave.
    ToolCalled(Box<ToolCalled>),
    /// A call of a guided run is over.
    ToolAnswered(Box<ToolAnswered>),
    /// Something was asked of a guided run and not done.
    Refused(Box<Refused>),
    /// The run ended. Always the last event.
    Finished {
        /// How.
        outcome: Outcome,
    },
}
