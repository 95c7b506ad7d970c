//! Messages into a session of Claude Code: a run that was started detached has ended or asks.
//!
//! The notification and its capability are Claude Code's own, described in its channels reference. Clients that did not
//! ask for a channel ignore both. Values of `meta` are strings, and its keys plain words.

use rmcp::model::{CustomNotification, ServerNotification};
use serde_json::json;
use tramline_engine::ports::RunStatus;
use tramline_workflow::ids::RunId;

/// The experimental capability of a server with a channel.
pub(crate) const CAPABILITY: &str = "claude/channel";
const METHOD: &str = "notifications/claude/channel";

/// The message about a run.
pub(crate) fn run_message(run: &RunId, workflow: &str, status: RunStatus) -> ServerNotification {
    let says = match status {
        RunStatus::Paused => "waits for an answer: run_await shows the question",
        RunStatus::Completed => "has completed: run_await returns its result",
        RunStatus::Failed => "has failed: run_await returns the error",
        RunStatus::Rejected | RunStatus::Aborted | RunStatus::Expired => {
            "has ended without a result"
        }
        RunStatus::Running | RunStatus::SopSession => "continues",
    };
    let params = json!({
        "content": format!("The run {run} of {workflow} {says}."),
        "meta": {"run_id": run, "workflow": workflow, "status": status.as_str()},
    });
    ServerNotification::CustomNotification(CustomNotification::new(METHOD, Some(params)))
}
