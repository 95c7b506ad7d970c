//! What goes wrong in a control command: a code, a message, and what belongs to it.

pub(super) use super::super::codes::Code;
use super::super::codes::{self, Described};
use super::super::reply;
use super::told::point;
use rmcp::model::{CallToolResponse, CallToolResult};
use tramline_core::flaw::Flaw;
use tramline_core::ids::RunId;
use tramline_core::run::Run;
use tramline_core::{Map, Value};
use tramline_engine::Fault;

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

    /// The same, of a workflow and with where it waits now, if it waits.
    pub(super) fn about(self, run: &Run) -> Self {
        let wrong = self.of(&run.id);
        if run.pauses.is_empty() {
            let status = tramline_engine::status(run).as_str();
            return wrong.with("status", status);
        }
        let points: Vec<_> = run.pauses.keys().map(|seq| point(run, *seq)).collect();
        let first = points.first().cloned().unwrap_or_default();
        let all = points.into_iter().map(Value::from);
        let wrong = wrong.with("checkpoint_id", first);
        let wrong = wrong.with("waiting", Value::array(all));
        match run.expires_ms() {
            Some(at_ms) => wrong.with("expires_at", reply::moment(at_ms)),
            None => wrong,
        }
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
        reply::errored(reply::coded(self.code, self.message, self.data))
    }
}

impl From<Wrong> for CallToolResponse {
    fn from(wrong: Wrong) -> Self {
        wrong.into_reply().into()
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        let Described {
            code,
            message,
            data,
        } = codes::describe(&fault);
        Self {
            code,
            message,
            data,
        }
    }
}
