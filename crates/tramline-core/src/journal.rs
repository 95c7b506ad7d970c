//! The journal: the ordered events of a run, and the only truth about it.
//!
//! A run's state is a fold of these events ([`Run::apply`](crate::run::Run::apply)). A step that
//! only computes is recorded once, when it is done; a step that calls out is announced first, so
//! that after a crash nobody has to guess whether the call left.

use crate::failure::Failure;
use crate::graph::Patch;
use crate::ids::{NodeIx, Seq, StepNo};
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use tramline_expr::{Str, Value};

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
    },
    /// An attempt failed and another one follows.
    AttemptFailed {
        /// Which step.
        step: StepNo,
        /// Why.
        failure: Failure,
        /// How long to wait for the next attempt.
        wait_ms: u64,
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
    },
    /// The graph was extended.
    Amended {
        /// By what.
        patch: Patch,
        /// By whom.
        by: Str,
    },
    /// The run ended. Always the last event.
    Finished {
        /// How.
        outcome: Outcome,
    },
}

/// How a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// What it runs: whole, so that the journal needs nothing beside it.
    pub workflow: Arc<Workflow>,
    /// What it was given.
    pub input: Value,
    /// How it goes on from step to step.
    #[serde(default)]
    pub policy: Policy,
    /// The caller's label that groups runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Str>,
    /// Who began it.
    pub by: Str,
    /// Where its document and its servers are to be found again: the front end's own words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
}

/// How a run goes on from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// A step starts as soon as its inputs are there.
    #[default]
    Eager,
    /// All steps that are ready together run, then the run pauses.
    Layered,
}

/// Why a run waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pause {
    /// A layer is done and the next one is ready.
    Layer {
        /// Which layer is done, from 0.
        index: u32,
    },
    /// A person must agree before a node is entered.
    Approval {
        /// Which node.
        node: NodeIx,
        /// Why.
        reason: Str,
    },
    /// A call left and nobody knows whether it arrived.
    InDoubt {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
    },
}

/// What somebody answers to a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Go on: run the next layer, enter the node.
    Proceed,
    /// No: the run ends as rejected.
    Reject,
    /// Call again, knowing that it may be the second time.
    Retry,
    /// Do not call again; this is the output.
    Skip {
        /// What the step is taken to have given.
        output: Value,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// With a result.
    Completed {
        /// The result.
        result: Value,
    },
    /// With a failure.
    Failed {
        /// Which one.
        failure: Failure,
        /// Where, if at a node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeIx>,
    },
    /// By a person's no.
    Rejected {
        /// To what node, if the question was about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeIx>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// From outside.
    Aborted {
        /// By whom.
        by: Str,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// A stretch of a journal that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The event it stopped at.
    pub seq: Seq,
    /// What was wrong.
    pub message: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {} of the journal cannot be read: {}",
            self.seq, self.message
        )
    }
}

impl std::error::Error for Unreadable {}

/// Larger events are refused: a value shared a thousand times over is small in memory and has no
/// end on disk.
pub const EVENT_BYTES_MAX: usize = 32 << 20;

/// An event that is larger than [`EVENT_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it takes more than the {EVENT_BYTES_MAX} bytes that one event may"
        )
    }
}

impl std::error::Error for TooLarge {}

/// Adds an event's line to `out`: `[at_ms, event]` as JSON. Its place is where it stands.
pub fn encode(entry: &Entry, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    let before = out.len();
    let mut bounded = Bounded {
        most: before + EVENT_BYTES_MAX,
        out,
    };
    // Nothing but the bound can fail: keys are texts, and a `Vec` takes what it is given.
    let written = serde_json::to_writer(&mut bounded, &(entry.at_ms, &entry.event));
    if written.is_err() {
        out.truncate(before);
        return Err(TooLarge);
    }
    out.push(b'\n');
    Ok(())
}

struct Bounded<'a> {
    most: usize,
    out: &'a mut Vec<u8>,
}

impl std::io::Write for Bounded<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.out.len() + bytes.len() > self.most {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads the lines that [`encode`] wrote, the first of which is event `first`.
pub fn decode(first: Seq, body: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    body.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .enumerate()
        .map(|(at, line)| {
            let seq = first + at as Seq;
            let (at_ms, event) = serde_json::from_slice(line).map_err(|error| Unreadable {
                seq,
                message: error.to_string(),
            })?;
            Ok(Entry { seq, at_ms, event })
        })
        .collect()
}
