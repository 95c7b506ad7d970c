//! Error of a control command: code, message and data.

use super::status::checkpoint_id;
pub(super) use crate::error_codes::ReplyCode;
use crate::error_codes::{self, DescribedFault};
use crate::reply;
use rmcp::model::{CallToolResponse, CallToolResult};
use tramline_engine::Fault;
use tramline_expr::{Map, Value};
use tramline_workflow::flaw::Flaw;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// An error reply.
#[derive(Clone, Debug)]
pub(super) struct ControlError {
    pub(super) code: ReplyCode,
    pub(super) message: String,
    data: Map,
}

impl ControlError {
    pub(super) fn new(code: ReplyCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Map::new(),
        }
    }

    /// An error for invalid arguments.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ReplyCode::InvalidParams, message)
    }

    /// Adds a data field.
    pub(super) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.data.insert(key, value.into());
        self
    }

    /// Adds the workflow id.
    pub(super) fn with_workflow(self, run: &RunId) -> Self {
        self.with("workflow_id", run.as_str())
    }

    /// Adds the workflow id and its open checkpoints, if it waits.
    pub(super) fn with_run_state(self, run: &Run) -> Self {
        let wrong = self.with_workflow(&run.id);
        if run.pauses.is_empty() {
            let status = tramline_engine::run_status(run).as_str();
            return wrong.with("status", status);
        }
        let points: Vec<_> = run
            .pauses
            .keys()
            .map(|seq| checkpoint_id(run, *seq))
            .collect();
        let first = points.first().cloned().unwrap_or_default();
        let all = points.into_iter().map(Value::from);
        let wrong = wrong.with("checkpoint_id", first);
        let wrong = wrong.with("waiting", Value::array(all));
        match run.expires_ms() {
            Some(at_ms) => wrong.with("expires_at", reply::timestamp(at_ms)),
            None => wrong,
        }
    }

    /// An error with all flaws of a document.
    pub(super) fn from_flaws(flaws: &[Flaw]) -> Self {
        let message = match flaws {
            [only] => format!("invalid workflow: {}", only.message),
            several => format!("the workflow has {} flaws", several.len()),
        };
        Self::invalid_params(message).with("details", crate::document_check::flaws_value(flaws))
    }

    pub(super) fn into_reply(self) -> CallToolResult {
        reply::error_reply(reply::error_object(self.code, self.message, self.data))
    }
}

impl From<ControlError> for CallToolResponse {
    fn from(wrong: ControlError) -> Self {
        wrong.into_reply().into()
    }
}

impl From<Fault> for ControlError {
    fn from(fault: Fault) -> Self {
        let DescribedFault {
            code,
            message,
            data,
        } = error_codes::describe_fault(&fault);
        Self {
            code,
            message,
            data,
        }
    }
}
