//! Audit records of calls to our tools, written where every call passes so that no tool can forget it.

use super::caller::Caller;
use super::reply;
use super::tool::{CallContext, ToolDef};
use super::tools;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value as Json;
use tramline_engine::audit::AuditNote;
use tramline_engine::{Engine, Fault};
use tramline_expr::{Map, Value};
use tramline_workflow::ids::RunId;

/// The `door` of audit records for tool calls.
const AUDIT_DOOR: &str = "mcp";
/// Arguments of our tools that hold the reason of a call.
const REASON_ARGUMENTS: [&str; 5] = ["feedback", "reason", "why", "intent", "new_requirement"];
/// Arguments and reply fields of our tools that name the run.
const RUN_FIELDS: [&str; 5] = [
    "workflow_id",
    "run_id",
    "runId",
    "checkpoint_id",
    "trace_path",
];
/// Whether calls of a tool are audited: all except read-only and journaled ones.
pub(super) fn is_audited(own: &ToolDef) -> bool {
    own.hints.read_only != Some(true) && !own.rules.is_journaled
}

/// A call that will be audited.
pub(super) struct AuditedCall {
    engine: Engine,
    note: AuditNote,
}

/// Starts the audit record of a call.
pub(super) fn audited_call(means: &CallContext, tool: &str, arguments: &Value) -> AuditedCall {
    AuditedCall {
        engine: means.engine.clone(),
        note: call_note(means, tool, arguments),
    }
}

impl AuditedCall {
    /// Answers the call. The audit record is durable before the reply; if it cannot be written, the caller gets
    /// that error instead.
    pub(super) async fn run(
        self,
        answering: impl Future<Output = CallToolResponse>,
    ) -> CallToolResponse {
        let noted = self
            .engine
            .audited_command(self.note, answering, record_reply)
            .await;
        noted.unwrap_or_else(|fault| reply::fault_reply(&fault, None).into())
    }
}

fn call_note(means: &CallContext, tool: &str, arguments: &Value) -> AuditNote {
    let by = means.caller().journal_name(&means.request);
    let mut note = AuditNote::new(tool, by.as_str());
    let text = |keys: &[&str]| {
        let mut found = keys.iter().filter_map(|key| arguments.get(key)?.as_str());
        found.find(|text| !text.is_empty()).map(str::to_owned)
    };
    note.channel = Some(AUDIT_DOOR.to_owned());
    note.person = means.caller().person.is_some();
    note.run = text(&RUN_FIELDS).map(run_of);
    note.session = text(&["session_id", "sessionId"]);
    note.why = text(&REASON_ARGUMENTS).or_else(|| Some(format!("key {}", text(&["key"])?)));
    note.arguments = Some(
        means
            .engine
            .audit_value(&audited_arguments(tool, arguments)),
    );
    note
}

/// The audit record of a request about a run that is not a tool call.
pub(super) fn request_note(
    context: &RequestContext<RoleServer>,
    command: &str,
    run: &str,
) -> AuditNote {
    let caller = Caller::of(context);
    let mut note = AuditNote::new(command, caller.journal_name(context).as_str());
    note.channel = Some(AUDIT_DOOR.to_owned());
    note.person = caller.person.is_some();
    note.run = Some(run.to_owned());
    note
}

/// Records a call that was rejected before its tool could read it.
pub(super) async fn record_rejected_call(
    engine: &Engine,
    (tool, context): (&str, &RequestContext<RoleServer>),
    arguments: &Value,
    error: &ErrorData,
) -> Result<(), Fault> {
    let run = RUN_FIELDS
        .iter()
        .find_map(|key| arguments.get(key)?.as_str());
    let mut note = request_note(
        context,
        tool,
        &run.map(str::to_owned).map(run_of).unwrap_or_default(),
    );
    note.run = note.run.filter(|run| !run.is_empty());
    note.arguments = Some(engine.audit_value(&audited_arguments(tool, arguments)));
    record_request_result(&mut note, &Err(error.clone()));
    engine.write_audit_note(note).await
}

/// Records the result of such a request.
pub(super) fn record_request_result(note: &mut AuditNote, came: &Result<(), ErrorData>) {
    match came {
        Ok(()) => note.result = "done".to_owned(),
        Err(error) => {
            note.result = "refused".to_owned();
            note.error = Some(error.message.to_string());
        }
    }
}

/// The arguments with hidden ones replaced.
fn audited_arguments(tool: &str, arguments: &Value) -> Value {
    let secret = tools::secret_arguments(tool);
    let is_hidden = |key: &str| secret.contains(&key);
    let Some(fields) = arguments.as_object() else {
        return arguments.clone();
    };
    let shown = fields.iter().map(|(key, value)| match is_hidden(key) {
        true => (key.clone(), "[hidden]".into()),
        false => (key.clone(), value.clone()),
    });
    shown.collect::<Map>().into()
}

/// The run that an id refers to: the run itself, or the run of a checkpoint or of a trace.
fn run_of(id: String) -> String {
    let traced = id.strip_prefix("tramline://runs/");
    if let Some((run, _)) = traced.and_then(|rest| rest.split_once('/')) {
        return run.to_owned();
    }
    match id.parse::<tramline_workflow::ids::Checkpoint>() {
        Ok(point) => point.run.to_string(),
        Err(_) => id,
    }
}

/// Records the result of a call from its reply.
fn record_reply(note: &mut AuditNote, reply: &CallToolResponse) {
    let result = match reply {
        CallToolResponse::Complete(result) => result,
        CallToolResponse::InputRequired(_) => {
            note.result = "asked".to_owned();
            return;
        }
        CallToolResponse::Task(_) => {
            note.result = "running".to_owned();
            return;
        }
        // The library's enum is non-exhaustive.
        _ => return,
    };
    let told = result.structured_content.as_ref().unwrap_or(&Json::Null);
    let text = |at: &Json, key: &str| at.get(key).and_then(Json::as_str).map(str::to_owned);
    let data = told.get("data").unwrap_or(&Json::Null);
    if note
        .run
        .as_deref()
        .is_none_or(|run| run.parse::<RunId>().is_err())
    {
        let said = RUN_FIELDS
            .iter()
            .find_map(|key| text(told, key).or_else(|| text(data, key)));
        let said = said.map(run_of).filter(|run| run.parse::<RunId>().is_ok());
        note.run = said.or(note.run.take());
    }
    if is_rejected(result, told) {
        note.result = "refused".to_owned();
        note.error = Some(error_text(result, told));
        return;
    }
    let status = text(told, "status").or_else(|| text(data, "status"));
    note.result = status.unwrap_or_else(|| "done".to_owned());
}

fn is_rejected(result: &CallToolResult, told: &Json) -> bool {
    // A loop that asks its caller for a plan has neither succeeded nor been rejected.
    let failed = told.get("success") == Some(&Json::Bool(false)) && told.get("error").is_some();
    result.is_error == Some(true) || failed
}

/// Why a call was rejected: the kind of error and its message.
fn error_text(result: &CallToolResult, told: &Json) -> String {
    let error = told.get("error").unwrap_or(told);
    let part = |at: &Json, key: &str| at.get(key).and_then(Json::as_str).map(str::to_owned);
    let kind = error.get("data").and_then(|data| part(data, "name"));
    let kind = kind
        .or_else(|| part(error, "type"))
        .or_else(|| part(error, "code"));
    let message = part(error, "message").or_else(|| {
        let first = result.content.first()?;
        first.as_text().map(|text| text.text.clone())
    });
    let message = message.unwrap_or_default();
    match kind {
        Some(kind) => format!("{kind}: {message}"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Toolset;

    /// A new tool is audited unless it is read-only; journaled tools are not destructive.
    #[test]
    fn every_tool_that_acts_is_noted() {
        for own in Toolset::ALL.into_iter().flat_map(Toolset::tools) {
            let reads = own.hints.read_only == Some(true);
            let journaled = own.rules.is_journaled;
            assert_eq!(is_audited(own), !reads && !journaled, "{}", own.name);
            let harmless = own.hints.destructive == Some(false);
            assert!(!journaled || harmless, "{}", own.name);
        }
    }

    #[test]
    fn the_value_of_a_setting_is_hidden() {
        let given = Value::object([("key", "K".into()), ("value", "secret".into())]);
        let shown = audited_arguments("settings_set", &given);
        assert_eq!(shown.get("key"), Some(&"K".into()));
        assert_eq!(shown.get("value"), Some(&"[hidden]".into()));
    }
}
