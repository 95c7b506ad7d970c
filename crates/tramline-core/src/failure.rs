//! What can go wrong in a step: data that is journaled and routed, never an `Err` of ours.

use serde::{Deserialize, Serialize};
use std::fmt;
use tramline_expr::Value;

/// Why a step did not succeed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind, which decides about retrying and has a page of its own.
    pub kind: FailureKind,
    /// What happened, for a person.
    pub message: String,
    /// What the tool or the evaluator gave beside the message: content, position, last words on
    /// stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub data: Option<Value>,
    /// Whether the call had left, so that it may have happened although it failed. One that
    /// certainly never left is not among them, nor one that the tool itself said had failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub may_have_happened: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The kinds of failure. Closed: a new one must find its page, its code and its retry rule.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The tool ran and said that it failed.
    Tool,
    /// The server could not be started or reached, or went away during the call.
    Unavailable,
    /// No answer came in the time given.
    Timeout,
    /// The answer was not one: malformed, too large, or of the wrong shape.
    BadAnswer,
    /// No such server or tool.
    UnknownTool,
    /// The arguments were refused before the call left.
    BadArguments,
    /// An expression or a rule could not be evaluated.
    Expression,
    /// The path, host or command lies outside of what is allowed.
    Forbidden,
    /// The call was cancelled, by the run's end or by a person.
    Cancelled,
    /// The run's input or result does not fit its schema.
    Schema,
    /// One of the run's limits was reached.
    Limit,
    /// The run could do nothing more and had not come to an end.
    Stalled,
    /// A person said no.
    Rejected,
    /// A replay made a call that its record does not have.
    NotRecorded,
}

impl FailureKind {
    /// Every kind, for pages and tests.
    pub const ALL: [Self; 14] = [
        Self::Tool,
        Self::Unavailable,
        Self::Timeout,
        Self::BadAnswer,
        Self::UnknownTool,
        Self::BadArguments,
        Self::Expression,
        Self::Forbidden,
        Self::Cancelled,
        Self::Schema,
        Self::Limit,
        Self::Stalled,
        Self::Rejected,
        Self::NotRecorded,
    ];

    /// The code whose page explains this kind (`tramline explain T0501`).
    pub fn code(self) -> &'static str {
        match self {
            Self::Tool => "T0501",
            Self::Unavailable => "T0502",
            Self::Timeout => "T0503",
            Self::BadAnswer => "T0504",
            Self::UnknownTool => "T0505",
            Self::BadArguments => "T0506",
            Self::Expression => "T0507",
            Self::Forbidden => "T0508",
            Self::Cancelled => "T0509",
            Self::Schema => "T0510",
            Self::Limit => "T0511",
            Self::Stalled => "T0512",
            Self::Rejected => "T0513",
            Self::NotRecorded => "T0514",
        }
    }

    /// Whether trying again may help. What is wrong with the request stays wrong.
    pub fn may_pass(self) -> bool {
        match self {
            Self::Tool | Self::Unavailable | Self::Timeout | Self::BadAnswer => true,
            Self::UnknownTool
            | Self::BadArguments
            | Self::Expression
            | Self::Forbidden
            | Self::Cancelled
            | Self::Schema
            | Self::Limit
            | Self::Stalled
            | Self::Rejected
            | Self::NotRecorded => false,
        }
    }
}

impl Failure {
    /// A failure with a message and nothing beside it.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: None,
            may_have_happened: false,
        }
    }

    /// The same failure of a call that had left and may have happened.
    #[must_use]
    pub fn after_leaving(mut self) -> Self {
        self.may_have_happened = true;
        self
    }

    /// The same failure with data beside its message.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.kind.code(), self.message)
    }
}

impl std::error::Error for Failure {}
