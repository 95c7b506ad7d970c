//! Who may answer which question of a run: one table, decided in one pure function.
//!
//! A pause records why it asks ([`Reason`]), an answer by which channel it came
//! ([`AnswerChannel`]). [`may_answer`] is the whole rule; the engine applies it to every answer
//! before it is journaled, and docs/security.md prints the same table.

use crate::graph::Graph;
use crate::journal::Pause;
use serde::{Deserialize, Serialize};

mod table;

pub use table::markdown;

/// Who demands that a person agrees before a node is entered.
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
    /// The word for it, as in the journal.
    pub fn word(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Confirm => "confirm",
            Self::Destructive => "destructive",
            Self::Document => "document",
        }
    }
}

/// Whose budget ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetSource {
    /// The one that the operator sets for every run.
    Operator,
    /// The one that the caller gave its own run.
    Caller,
}

impl BudgetSource {
    /// The word for it, as in the journal.
    pub fn word(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Caller => "caller",
        }
    }
}

/// By which channel an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerChannel {
    /// An agent called a tool: the answer is relayed.
    Agent,
    /// An HTTP request with the token that the run belongs to, or none where none is needed.
    Http,
    /// A request with a token that is marked `approver`.
    Approver,
    /// The form that the client showed its user.
    Form,
    /// The command line.
    CommandLine,
    /// The studio, opened with the operator's credential.
    Studio,
    /// The Rust program that the engine is a part of.
    Program,
}

impl AnswerChannel {
    /// Every channel, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Agent,
        Self::Http,
        Self::Approver,
        Self::Form,
        Self::CommandLine,
        Self::Studio,
        Self::Program,
    ];

    /// The word for it, as in the journal.
    pub fn word(self) -> &'static str {
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

    /// Whether an answer by this channel may be a program's: nothing shows that a person gave it.
    pub fn is_relayed(self) -> bool {
        match self {
            Self::Agent | Self::Http => true,
            Self::Approver | Self::Form | Self::CommandLine | Self::Studio | Self::Program => false,
        }
    }
}

/// Why a run asks, as far as that decides who may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The operator's policy says `ask`.
    Policy,
    /// A procedure says `confirm`.
    Confirm,
    /// The operator's budget is spent.
    OperatorBudget,
    /// The tool is annotated as destructive.
    Destructive,
    /// The document says `approval`.
    Document,
    /// The budget that the caller gave its own run is spent.
    CallerBudget,
    /// A layer is done.
    Layer,
    /// Nobody knows whether a call happened.
    InDoubt,
    /// A breakpoint.
    Breakpoint,
    /// A fork is about to repeat a call of the run it branched off from.
    Effect,
    /// A child run waits for an answer of its own.
    Child,
}

impl Reason {
    /// Every reason, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Policy,
        Self::Confirm,
        Self::OperatorBudget,
        Self::Destructive,
        Self::Document,
        Self::CallerBudget,
        Self::InDoubt,
        Self::Effect,
        Self::Layer,
        Self::Breakpoint,
        Self::Child,
    ];

    /// The word for it, as replies show it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Confirm => "confirm",
            Self::OperatorBudget => "operator-budget",
            Self::Destructive => "destructive",
            Self::Document => "document",
            Self::CallerBudget => "caller-budget",
            Self::Layer => "layer",
            Self::InDoubt => "in-doubt",
            Self::Breakpoint => "breakpoint",
            Self::Effect => "effect",
            Self::Child => "child",
        }
    }

    /// Whether the operator demands the answer, so that only a person may give it.
    pub fn is_operators(self) -> bool {
        match self {
            Self::Policy | Self::Confirm | Self::OperatorBudget => true,
            Self::Destructive
            | Self::Document
            | Self::CallerBudget
            | Self::Layer
            | Self::InDoubt
            | Self::Breakpoint
            | Self::Effect
            | Self::Child => false,
        }
    }

    /// Why a pause asks.
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
                // Journals of earlier versions do not say whose budget it was.
                Some(BudgetSource::Operator) | None => Self::OperatorBudget,
            },
            Pause::Layer { .. } => Self::Layer,
            Pause::InDoubt { .. } => Self::InDoubt,
            Pause::Break { .. } => Self::Breakpoint,
            Pause::Effect { .. } => Self::Effect,
            Pause::Child { .. } => Self::Child,
        }
    }
}

/// Who demands an approval. Journals of earlier versions do not say: then it is the document's only
/// if its node asks for one, and otherwise counts as the operator's.
pub fn approval_source(graph: &Graph, pause: &Pause) -> ApprovalSource {
    let Pause::Approval { node, source, .. } = pause else {
        return ApprovalSource::Policy;
    };
    let at = graph.node(*node);
    match (source, &at.approval) {
        (Some(source), _) => *source,
        (None, Some(_)) if asks_for_procedure(graph, &at.id) => ApprovalSource::Confirm,
        (None, Some(_)) => at.approval_source.unwrap_or(ApprovalSource::Document),
        (None, None) => ApprovalSource::Policy,
    }
}

/// Whether a graph is the one call of a procedure that a person is asked about, as earlier versions
/// wrote it: its entry is named after the node.
fn asks_for_procedure(graph: &Graph, node: &str) -> bool {
    let first = graph.workflow.nodes.first();
    first.is_some_and(|first| first.id.strip_suffix(" begins") == Some(node))
}

/// What agents may answer for the people they work for (`approvals.agents`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentAnswers {
    /// Nothing that a person should decide.
    None,
    /// What documents and annotations ask for, unless their client can ask its user.
    #[default]
    Relay,
    /// Everything.
    All,
}

impl AgentAnswers {
    /// Every choice, in the order of the table.
    pub const ALL: [Self; 3] = [Self::None, Self::Relay, Self::All];

    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Relay => "relay",
            Self::All => "all",
        }
    }
}

/// Why somebody may not answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The operator demands that a person answers.
    PersonOnly,
    /// The client can ask its user, so an agent does not relay the answer.
    UseForm,
    /// The operator says that agents answer nothing (`approvals.agents: none`).
    AgentsOff,
    /// The answer changes the arguments of a call, which only people do.
    PersonEdits,
    /// The answer came over HTTP without a token, so it may be anybody's on the machine.
    TokenNeeded,
}

impl Refusal {
    /// The reason in a sentence.
    pub fn says(self) -> &'static str {
        match self {
            Self::PersonOnly => "the operator demands that a person answers this",
            Self::UseForm => {
                "your client can show its user a form, so the answer is given there and not relayed"
            }
            Self::AgentsOff => {
                "the operator lets agents answer nothing here (`approvals.agents: none`)"
            }
            Self::PersonEdits => "only a person may change the arguments of a call",
            Self::TokenNeeded => {
                "without a token the HTTP API answers nothing that a person should decide"
            }
        }
    }
}

/// Whether a question asked for this reason may be answered by this channel. `form` says whether the
/// client that the answer comes from can show its user a form.
pub fn may_answer(
    reason: Reason,
    channel: AnswerChannel,
    agents: AgentAnswers,
    form: bool,
) -> Result<(), Refusal> {
    if !channel.is_relayed() || agents == AgentAnswers::All {
        return Ok(());
    }
    match reason {
        Reason::Layer | Reason::Breakpoint | Reason::Child | Reason::CallerBudget => Ok(()),
        Reason::Policy | Reason::Confirm | Reason::OperatorBudget => Err(Refusal::PersonOnly),
        Reason::Destructive | Reason::Document | Reason::InDoubt | Reason::Effect
            if agents == AgentAnswers::None =>
        {
            Err(Refusal::AgentsOff)
        }
        Reason::Destructive | Reason::Document if form => Err(Refusal::UseForm),
        Reason::Destructive | Reason::Document | Reason::InDoubt | Reason::Effect => Ok(()),
    }
}
