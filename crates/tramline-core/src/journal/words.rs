//! What a run asks, what is answered, and how it ends.

use super::{Budget, ProposedCall, Spent};
use crate::authority::{ApprovalSource, BudgetSource};
use crate::failure::Failure;
use crate::ids::{NodeIx, RunId, StepNo};
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

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
        /// Who demands it; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<ApprovalSource>,
        /// The call that waits for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Box<ProposedCall>>,
    },
    /// A call left and nobody knows whether it arrived.
    InDoubt {
        /// Which step.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// The call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Box<ProposedCall>>,
    },
    /// Somebody wanted the run to halt before a node.
    Break {
        /// Which node.
        node: NodeIx,
        /// Why here.
        reason: Str,
    },
    /// A fork is about to make a call that the run it branched off from has made.
    Effect {
        /// Which node.
        node: NodeIx,
        /// The call that waits for an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Box<ProposedCall>>,
    },
    /// A run that this one is waiting for waits itself.
    Child {
        /// Which step waits for it.
        step: StepNo,
        /// Where.
        node: NodeIx,
        /// Which run.
        run: RunId,
    },
    /// Its budget is spent: nothing begins until there is more.
    Budget {
        /// Which part of it.
        what: Spent,
        /// How much of that was used.
        used: u64,
        /// How much of it there was.
        limit: u64,
        /// Whose budget it is; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<BudgetSource>,
    },
}

impl Pause {
    /// The node it is about, if it is about one.
    pub fn node(&self) -> Option<NodeIx> {
        match self {
            Self::Layer { .. } | Self::Budget { .. } => None,
            Self::Approval { node, .. }
            | Self::InDoubt { node, .. }
            | Self::Break { node, .. }
            | Self::Effect { node, .. }
            | Self::Child { node, .. } => Some(*node),
        }
    }

    /// The call it is about, if it is about one that is known.
    pub fn call(&self) -> Option<&ProposedCall> {
        match self {
            Self::Approval { call, .. }
            | Self::Effect { call, .. }
            | Self::InDoubt { call, .. } => call.as_deref(),
            Self::Layer { .. } | Self::Break { .. } | Self::Child { .. } | Self::Budget { .. } => {
                None
            }
        }
    }

    /// What it is called where runs are shown.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Layer { .. } => "layer",
            Self::Approval { .. } => "approval",
            Self::InDoubt { .. } => "in-doubt",
            Self::Break { .. } => "break",
            Self::Effect { .. } => "effect",
            Self::Child { .. } => "child",
            Self::Budget { .. } => "budget",
        }
    }
}

/// What somebody answers to a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Go on: run the next layer, enter the node.
    Proceed,
    /// Go on, but call with these arguments instead of those that were shown.
    ProceedWith {
        /// All of the arguments.
        arguments: Value,
    },
    /// No: the run ends as rejected.
    Reject,
    /// Call again, knowing that it may be the second time.
    Retry,
    /// Do not call again; this is the output.
    Skip {
        /// What the step is taken to have given.
        output: Value,
    },
    /// Go on, with so much more.
    Extend {
        /// What is added to the budget.
        budget: Budget,
    },
}

/// Who ended a run whose time to live was over, as [`Outcome::Aborted`] names it.
pub const EXPIRY: &str = "expiry";

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

impl Outcome {
    /// How a run stands that ended so.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Rejected { .. } => "rejected",
            Self::Aborted { .. } if self.is_expired() => "expired",
            Self::Aborted { .. } => "aborted",
        }
    }

    /// Whether nobody answered in the time the run was given. Journals write this as an abort.
    pub fn is_expired(&self) -> bool {
        matches!(self, Self::Aborted { by, .. } if by == EXPIRY)
    }
}
