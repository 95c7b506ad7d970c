//! Pauses, answers and outcomes of a run.

use super::{Budget, BudgetPart, ProposedCall};
use crate::authority::{ApprovalSource, BudgetSource};
use crate::failure::Failure;
use crate::form::FormQuestion;
use crate::ids::{NodeIx, RunId, StepNo};
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// Why a run is paused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pause {
    /// A layer is finished and the next one is ready.
    Layer {
        /// The finished layer, from 0.
        index: u32,
    },
    /// A person must approve before a node is entered.
    Approval {
        /// The node.
        node: NodeIx,
        /// The reason.
        reason: Str,
        /// Who requires it; journals written by earlier versions do not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<ApprovalSource>,
        /// The call that waits for approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Box<ProposedCall>>,
    },
    /// A call was sent and it is unknown whether it happened.
    InDoubt {
        /// The step number.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// The call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Box<ProposedCall>>,
    },
    /// A breakpoint stopped the run before a node.
    Break {
        /// The node.
        node: NodeIx,
        /// Why it stopped here.
        reason: Str,
    },
    /// A fork is about to repeat a call that its original run already made.
    Effect {
        /// The node.
        node: NodeIx,
        /// The call that waits for an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Box<ProposedCall>>,
    },
    /// A child run that this run waits for is paused.
    Child {
        /// The step that waits for it.
        step: StepNo,
        /// The node.
        node: NodeIx,
        /// The child run.
        run: RunId,
    },
    /// A person is asked to fill in a form.
    Form {
        /// The node.
        node: NodeIx,
        /// The question.
        form: Box<FormQuestion>,
    },
    /// A budget is exhausted: nothing starts until it is extended.
    Budget {
        /// The exhausted part.
        what: BudgetPart,
        /// How much was used.
        used: u64,
        /// How much was available.
        limit: u64,
        /// Whose budget it is; journals written by earlier versions do not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<BudgetSource>,
    },
}

impl Pause {
    /// The answers that a pause accepts, as users write them.
    pub fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Layer { .. } | Self::Approval { .. } => &["proceed", "reject"],
            Self::Break { .. } | Self::Effect { .. } => &["proceed", "skip", "reject"],
            Self::InDoubt { .. } | Self::Child { .. } => &["retry", "skip", "reject"],
            Self::Budget { .. } => &["extend", "reject"],
            Self::Form { .. } => &["submit", "decline", "cancel", "reject"],
        }
    }

    /// The node it concerns, if any.
    pub fn node(&self) -> Option<NodeIx> {
        match self {
            Self::Layer { .. } | Self::Budget { .. } => None,
            Self::Approval { node, .. }
            | Self::InDoubt { node, .. }
            | Self::Break { node, .. }
            | Self::Effect { node, .. }
            | Self::Form { node, .. }
            | Self::Child { node, .. } => Some(*node),
        }
    }

    /// The open step it concerns, if any.
    pub fn step(&self) -> Option<StepNo> {
        match self {
            Self::InDoubt { step, .. } | Self::Child { step, .. } => Some(*step),
            Self::Layer { .. }
            | Self::Approval { .. }
            | Self::Break { .. }
            | Self::Effect { .. }
            | Self::Form { .. }
            | Self::Budget { .. } => None,
        }
    }

    /// The call it concerns, if it is known.
    pub fn call(&self) -> Option<&ProposedCall> {
        match self {
            Self::Approval { call, .. }
            | Self::Effect { call, .. }
            | Self::InDoubt { call, .. } => call.as_deref(),
            Self::Layer { .. }
            | Self::Break { .. }
            | Self::Child { .. }
            | Self::Form { .. }
            | Self::Budget { .. } => None,
        }
    }

    /// The kind as shown to users.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Layer { .. } => "layer",
            Self::Approval { .. } => "approval",
            Self::InDoubt { .. } => "in-doubt",
            Self::Break { .. } => "break",
            Self::Effect { .. } => "effect",
            Self::Child { .. } => "child",
            Self::Form { .. } => "form",
            Self::Budget { .. } => "budget",
        }
    }

    /// The question of a form, if the pause is one.
    pub fn form(&self) -> Option<&FormQuestion> {
        match self {
            Self::Form { form, .. } => Some(form),
            Self::Layer { .. }
            | Self::Approval { .. }
            | Self::InDoubt { .. }
            | Self::Break { .. }
            | Self::Effect { .. }
            | Self::Child { .. }
            | Self::Budget { .. } => None,
        }
    }
}

/// An answer to a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Continue: run the next layer, or enter the node.
    Proceed,
    /// Continue, but call with these arguments instead of the proposed ones.
    ProceedWith {
        /// The complete arguments.
        arguments: Value,
    },
    /// Reject: the run ends as rejected.
    Reject,
    /// Call again, accepting that it may be the second time.
    Retry,
    /// Do not call again; use this output.
    Skip {
        /// The output to assume for the step.
        output: Value,
    },
    /// Continue with a larger budget.
    Extend {
        /// What is added to the budget.
        budget: Budget,
    },
    /// Fill in the form.
    Submit {
        /// The fields of the form, an object.
        content: Value,
    },
    /// Decline to fill in the form: the run continues at the `decline` edge, or ends as rejected.
    Decline,
    /// Dismiss the form without a decision: the run continues at the `cancel` edge.
    Cancel,
    /// Nobody answered the form in time. Only the engine gives this answer.
    TimeOut,
}

impl Answer {
    /// The name of the answer, as users write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Proceed | Self::ProceedWith { .. } => "proceed",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Skip { .. } => "skip",
            Self::Extend { .. } => "extend",
            Self::Submit { .. } => "submit",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::TimeOut => "timeout",
        }
    }
}

/// The `by` of [`Outcome::Aborted`] for a run that expired.
pub const EXPIRY: &str = "expiry";

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// It completed with a result.
    Completed {
        /// The result.
        result: Value,
    },
    /// It failed.
    Failed {
        /// The failure.
        failure: Failure,
        /// The node that failed, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeIx>,
    },
    /// A person rejected it.
    Rejected {
        /// The node that was rejected, if the pause concerned one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeIx>,
        /// The reason given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// It was aborted from outside.
    Aborted {
        /// Who aborted it.
        by: Str,
        /// The reason given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

impl Outcome {
    /// The status of a run with this outcome.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Rejected { .. } => "rejected",
            Self::Aborted { .. } if self.is_expired() => "expired",
            Self::Aborted { .. } => "aborted",
        }
    }

    /// Whether the run expired because no answer arrived in time. Journals record this as an abort.
    pub fn is_expired(&self) -> bool {
        matches!(self, Self::Aborted { by, .. } if by == EXPIRY)
    }
}
