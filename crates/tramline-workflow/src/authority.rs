//! Decides who may answer which pause: one table in one pure function.
//!
//! A pause records why it asks ([`PauseReason`]), and an answer records the channel it came through
//! ([`AnswerChannel`]). [`may_answer`] is the complete rule. The engine applies it to every answer
//! before the answer is journaled, and docs/security.md contains the same table.

use crate::form::FormRespondents;
use crate::graph::Graph;
use crate::journal::Pause;
use serde::{Deserialize, Serialize};

mod table;

pub use table::markdown;

/// Who requires a person's approval before a node is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalSource {
    /// The operator's policy says `ask` for the tool.
    Policy,
    /// A procedure says `confirm` for the tool.
    Confirm,
    /// The tool is annotated as destructive.
    Destructive,
    /// The document itself says `approval`.
    Document,
}

impl ApprovalSource {
    /// The name used in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Confirm => "confirm",
            Self::Destructive => "destructive",
            Self::Document => "document",
        }
    }
}

/// Whose budget is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetSource {
    /// The budget that the operator sets for every run.
    Operator,
    /// The budget that the caller set for its own run.
    Caller,
}

impl BudgetSource {
    /// The name used in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Caller => "caller",
        }
    }
}

/// The channel through which an answer arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerChannel {
    /// An agent called a tool, so the answer is relayed.
    Agent,
    /// An HTTP request with the token that owns the run, or without one where no token is required.
    Http,
    /// A request with a token that is marked `approver`.
    Approver,
    /// The form that the client showed its user.
    Form,
    /// The command line.
    CommandLine,
    /// The studio, opened with the operator's credential.
    Studio,
    /// The Rust program that embeds the engine.
    Program,
}

impl AnswerChannel {
    /// Every channel, in table order.
    pub const ALL: [Self; 7] = [
        Self::Agent,
        Self::Http,
        Self::Approver,
        Self::Form,
        Self::CommandLine,
        Self::Studio,
        Self::Program,
    ];

    /// The name used in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Http => "http",
            Self::Approver => "approver",
            Self::Form => "form",
            Self::CommandLine => "command-line",
            Self::Studio => "studio",
            Self::Program => "program",
        }
    }

    /// Whether a program may have given the answer: nothing on this channel proves that a person
    /// did.
    pub fn is_relayed(self) -> bool {
        match self {
            Self::Agent | Self::Http => true,
            Self::Approver | Self::Form | Self::CommandLine | Self::Studio | Self::Program => false,
        }
    }
}

/// Why a run asks, to the extent that it decides who may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PauseReason {
    /// The operator's policy says `ask`.
    Policy,
    /// A procedure says `confirm`.
    Confirm,
    /// The operator's budget is exhausted.
    OperatorBudget,
    /// The tool is annotated as destructive.
    Destructive,
    /// The document says `approval`.
    Document,
    /// The document asks with a form (`ask`).
    Form,
    /// The document asks with a form that only a person may fill in (`answered-by: people`).
    PersonForm,
    /// The caller's budget for its own run is exhausted.
    CallerBudget,
    /// A layer is finished.
    Layer,
    /// It is unknown whether a call happened.
    InDoubt,
    /// A breakpoint was reached.
    Breakpoint,
    /// A fork is about to repeat a call that its original run already made.
    Effect,
    /// A child run is waiting for an answer.
    Child,
}

impl PauseReason {
    /// Every reason, in table order.
    pub const ALL: [Self; 13] = [
        Self::Policy,
        Self::Confirm,
        Self::OperatorBudget,
        Self::Destructive,
        Self::PersonForm,
        Self::Document,
        Self::Form,
        Self::CallerBudget,
        Self::InDoubt,
        Self::Effect,
        Self::Layer,
        Self::Breakpoint,
        Self::Child,
    ];

    /// The name used in replies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Confirm => "confirm",
            Self::OperatorBudget => "operator-budget",
            Self::Destructive => "destructive",
            Self::Document => "document",
            Self::Form => "form",
            Self::PersonForm => "person-form",
            Self::CallerBudget => "caller-budget",
            Self::Layer => "layer",
            Self::InDoubt => "in-doubt",
            Self::Breakpoint => "breakpoint",
            Self::Effect => "effect",
            Self::Child => "child",
        }
    }

    /// Whether the operator requires the answer, so that only a person may give it.
    pub fn is_operator_required(self) -> bool {
        match self {
            Self::Policy | Self::Confirm | Self::OperatorBudget => true,
            Self::Destructive
            | Self::Document
            | Self::Form
            | Self::PersonForm
            | Self::CallerBudget
            | Self::Layer
            | Self::InDoubt
            | Self::Breakpoint
            | Self::Effect
            | Self::Child => false,
        }
    }

    /// The reason for which a pause asks.
    pub fn of(graph: &Graph, pause: &Pause) -> Self {
        match pause {
            Pause::Approval { .. } => match approval_source(graph, pause) {
                ApprovalSource::Policy => Self::Policy,
                ApprovalSource::Confirm => Self::Confirm,
                ApprovalSource::Destructive => Self::Destructive,
                ApprovalSource::Document => Self::Document,
            },
            Pause::Budget { source, .. } => match source {
                Some(BudgetSource::Caller) => Self::CallerBudget,
                // Journals written by earlier versions do not record whose budget it was.
                Some(BudgetSource::Operator) | None => Self::OperatorBudget,
            },
            Pause::Layer { .. } => Self::Layer,
            Pause::InDoubt { .. } => Self::InDoubt,
            Pause::Break { .. } => Self::Breakpoint,
            Pause::Effect { .. } => Self::Effect,
            Pause::Form { form, .. } => match form.answered_by {
                FormRespondents::Anyone => Self::Form,
                FormRespondents::People => Self::PersonForm,
            },
            Pause::Child { .. } => Self::Child,
        }
    }
}

/// Who requires an approval. Journals written by earlier versions do not record it: the requirement
/// is attributed to the document if its node asks for approval, otherwise to the operator.
pub fn approval_source(graph: &Graph, pause: &Pause) -> ApprovalSource {
    let Pause::Approval { node, source, .. } = pause else {
        return ApprovalSource::Policy;
    };
    let at = graph.node(*node);
    match (source, &at.approval) {
        (Some(source), _) => *source,
        (None, Some(_)) if is_legacy_sop_approval(graph, &at.id) => ApprovalSource::Confirm,
        (None, Some(_)) => at.approval_source.unwrap_or(ApprovalSource::Document),
        (None, None) => ApprovalSource::Policy,
    }
}

/// Whether the graph holds a single procedure call that needs approval, in the form written by
/// earlier versions: the entry is named after the node.
fn is_legacy_sop_approval(graph: &Graph, node: &str) -> bool {
    let first = graph.workflow.nodes.first();
    first.is_some_and(|first| first.id.strip_suffix(" begins") == Some(node))
}

/// What agents may answer on behalf of their users (`approvals.agents`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentAnswers {
    /// Nothing that a person should decide.
    None,
    /// What documents and annotations ask for, unless the agent's client can ask its user.
    #[default]
    Relay,
    /// Everything.
    All,
}

impl AgentAnswers {
    /// Every setting, in table order.
    pub const ALL: [Self; 3] = [Self::None, Self::Relay, Self::All];

    /// The name used in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Relay => "relay",
            Self::All => "all",
        }
    }
}

/// Why an answer is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRefusal {
    /// The operator or the document requires an answer from a person.
    PersonOnly,
    /// The client can ask its user, so an agent must not relay the answer.
    UseForm,
    /// The operator does not let agents answer anything (`approvals.agents: none`).
    AgentsOff,
    /// The answer changes the arguments of a call, which only a person may do.
    PersonEdits,
    /// The answer came over HTTP without a token, so any local process may have sent it.
    TokenNeeded,
}

impl AnswerRefusal {
    /// The reason as a sentence.
    pub fn message(self) -> &'static str {
        match self {
            Self::PersonOnly => "a person must answer this",
            Self::UseForm => "your client can show its user a form, so the user must answer there",
            Self::AgentsOff => "the operator does not let agents answer (`approvals.agents: none`)",
            Self::PersonEdits => "only a person may change the arguments of a call",
            Self::TokenNeeded => {
                "without a token, the HTTP API cannot answer what a person should decide"
            }
        }
    }
}

/// Whether a pause with this reason may be answered through this channel. `form` says whether the
/// answering client can show its user a form.
pub fn may_answer(
    reason: PauseReason,
    channel: AnswerChannel,
    agents: AgentAnswers,
    form: bool,
) -> Result<(), AnswerRefusal> {
    if !channel.is_relayed() || agents == AgentAnswers::All {
        return Ok(());
    }
    match reason {
        PauseReason::Layer
        | PauseReason::Breakpoint
        | PauseReason::Child
        | PauseReason::CallerBudget => Ok(()),
        PauseReason::Policy
        | PauseReason::Confirm
        | PauseReason::OperatorBudget
        | PauseReason::PersonForm => Err(AnswerRefusal::PersonOnly),
        PauseReason::Destructive
        | PauseReason::Document
        | PauseReason::Form
        | PauseReason::InDoubt
        | PauseReason::Effect
            if agents == AgentAnswers::None =>
        {
            Err(AnswerRefusal::AgentsOff)
        }
        PauseReason::Destructive | PauseReason::Document | PauseReason::Form if form => {
            Err(AnswerRefusal::UseForm)
        }
        PauseReason::Destructive
        | PauseReason::Document
        | PauseReason::Form
        | PauseReason::InDoubt
        | PauseReason::Effect => Ok(()),
    }
}
