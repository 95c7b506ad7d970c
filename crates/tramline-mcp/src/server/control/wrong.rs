//! What goes wrong in a control command: a code, a message, and what belongs to it.

use super::super::reply;
use rmcp::model::{CallToolResponse, CallToolResult};
use tramline_core::flaw::Flaw;
use tramline_core::ids::RunId;
use tramline_core::{Map, Value};
use tramline_engine::Fault;

/// The kinds of error of this toolset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// The arguments make no sense, or not now.
    InvalidParams,
    /// No such workflow, not any more, or not for this caller.
    NotFound,
    /// Too many commands in a short time.
    RateLimited,
    /// Something in us or below us.
    Internal,
}

impl Code {
    pub(super) fn number(self) -> i64 {
        match self {
            Self::InvalidParams => -32602,
            Self::NotFound => -32001,
            Self::RateLimited => -32029,
            Self::Internal => -32603,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InvalidParams => "INVALID_PARAMS",
            Self::NotFound => "NOT_FOUND",
            Self::RateLimited => "RATE_LIMITED",
            Self::Internal => "INTERNAL_ERROR",
        }
    }
}

/// An error on its way to the caller.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub(super) code: Code,
    pub(super) message: String,
    data: Map,
}

impl Wrong {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Map::new(),
        }
    }

    /// Arguments that make no sense.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, message)
    }

    /// The same with something more about it.
    pub(super) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.data.insert(key, value.into());
        self
    }

    /// The same, of a workflow.
    pub(super) fn of(self, run: &RunId) -> Self {
        self.with("workflow_id", run.as_str())
    }

    /// A document that cannot be used, every flaw of it.
    pub(super) fn flaws(flaws: &[Flaw]) -> Self {
        let message = match flaws {
            [only] => format!("the workflow cannot be run: {}", only.message),
            several => format!("the workflow has {} flaws", several.len()),
        };
        Self::params(message).with("details", super::super::library::told(flaws))
    }

    pub(super) fn into_reply(self) -> CallToolResult {
        let mut error = Map::new();
        error.insert("code", self.code.number().into());
        error.insert("message", self.message.into());
        let mut data = self.data;
        data.insert("name", self.code.name().into());
        error.insert("data", data.into());
        reply::errored(error)
    }
}

impl From<Wrong> for CallToolResponse {
    fn from(wrong: Wrong) -> Self {
        wrong.into_reply().into()
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        let message = fault.to_string();
        match fault {
            Fault::NotFound(run) => Self::new(
                Code::NotFound,
                format!(
                    "there is no workflow {run} here; one that was started with a session_id is \
                     found only with it"
                ),
            )
            .of(&run),
            Fault::Stale { asked, current } => {
                let wrong = Self::params(message).of(&asked.run);
                let points = current.iter().map(|point| Value::from(point.to_string()));
                let wrong = wrong.with("waiting", Value::array(points));
                match current.first() {
                    Some(point) => wrong.with("checkpoint_id", point.to_string()),
                    None => wrong,
                }
            }
            Fault::PersonNeeded(needed) => {
                let wrong = Self::params(message)
                    .of(&needed.asked.run)
                    .with("checkpoint_id", needed.asked.to_string())
                    .with("reason", needed.reason.word())
                    .with("command", needed.command.as_str());
                match &needed.studio {
                    Some(studio) => wrong.with("studio", studio.as_str()),
                    None => wrong,
                }
            }
            Fault::Over { run, status } => Self::params(message).of(&run).with("status", status),
            Fault::Expired { run } => Self::new(Code::NotFound, message)
                .of(&run)
                .with("expired", true),
            Fault::Quota(_) => Self::new(Code::RateLimited, message),
            Fault::Refused(_) | Fault::TooLarge(_) => Self::params(message),
            Fault::BadInput { flaws, .. } => {
                let flaws = flaws.into_iter().map(Value::from);
                Self::params(message).with("details", Value::array(flaws))
            }
            Fault::Elsewhere { run, .. } | Fault::Damaged { run, .. } => {
                Self::new(Code::Internal, message).of(&run)
            }
            Fault::Store(_) => Self::new(Code::Internal, message),
        }
    }
}
