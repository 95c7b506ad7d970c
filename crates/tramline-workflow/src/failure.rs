//! What can go wrong in a step. Failures are data: they are journaled and routed, never returned as
//! `Err`.

use serde::{Deserialize, Serialize};
use std::fmt;
use tramline_expr::Value;

/// Why a step did not succeed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind, which decides whether a retry is useful and has its own error page.
    pub kind: FailureKind,
    /// What happened, as readable text.
    pub message: String,
    /// Additional data from the tool or the evaluator: content, position, the end of stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub data: Option<Value>,
    /// Whether the call had been sent and may have had an effect although it failed. False if the
    /// call was certainly not sent, or if the tool itself reported the failure.
    #[serde(default, skip_serializing_if = "is_false")]
    pub may_have_happened: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The kinds of failure. Closed: a new kind needs an error page, a code and a retry rule.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The tool ran and reported a failure.
    Tool,
    /// The server could not be started or reached, or disconnected during the call.
    Unavailable,
    /// No response arrived within the timeout.
    Timeout,
    /// The response was malformed, too large, or of the wrong shape.
    BadAnswer,
    /// The server or the tool does not exist.
    UnknownTool,
    /// The arguments were rejected before the call was sent.
    BadArguments,
    /// An expression or a rule could not be evaluated.
    Expression,
    /// The path, host or command is not allowed.
    Forbidden,
    /// The call was cancelled because the run ended or a person cancelled it.
    Cancelled,
    /// The input or result of the run does not match its schema.
    Schema,
    /// The run reached one of its limits.
    Limit,
    /// The run deadlocked: nothing can run, and no exit was reached.
    Stalled,
    /// A person rejected it.
    Rejected,
    /// A replay made a call that its recording does not contain.
    NotRecorded,
}

impl FailureKind {
    /// Every kind, for error pages and tests.
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

    /// The code of the error page for this kind (`tramline explain T0501`).
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

    /// Whether a retry may succeed. An invalid request stays invalid.
    pub fn is_retryable(self) -> bool {
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
    /// A failure with a message and no data.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: None,
            may_have_happened: false,
        }
    }

    /// Marks the failure as one of a call that was sent and may have had an effect.
    #[must_use]
    pub fn after_sending(mut self) -> Self {
        self.may_have_happened = true;
        self
    }

    /// Adds data to the failure.
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
