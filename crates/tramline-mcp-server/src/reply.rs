//! Shapes of all tool results.

use super::error_codes::{self, DescribedFault, ReplyCode};
use super::resources::{RESULT_BYTES_MAX, shortened_reply};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use tramline_engine::Fault;
use tramline_expr::{Map, Value};
use tramline_views::{pause_view, trace};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Outcome, Pause};
use tramline_workflow::schema::SchemaErrors;

mod content_blocks;

/// The reply for a run that has ended.
pub(super) fn outcome_reply(graph: &Graph, run: &RunId, outcome: &Outcome) -> CallToolResult {
    if let Outcome::Completed { result } = outcome {
        return graph_result(graph, run, result);
    }
    let how = trace::outcome_value(graph, outcome);
    let told = how.get("error").and_then(Value::as_object).cloned();
    let mut error = Map::new();
    error.insert("status", how.get("status").cloned().unwrap_or_default());
    for (key, value) in told.unwrap_or_default() {
        error.insert(key, value);
    }
    error.insert("run_id", run.as_str().into());
    // A failure has its own code; for other outcomes the status is the code.
    if error.get("code").is_none() {
        error.insert("code", outcome.status().into());
    }
    without_unpromised_structure(graph, error_reply(error))
}

/// The result of a graph. Content blocks are returned as content, and as data only if an output schema requires
/// it.
fn graph_result(graph: &Graph, run: &RunId, result: &Value) -> CallToolResult {
    let schema = graph.workflow.output_schema.as_ref();
    let content = content_blocks::read(result);
    let is_content = content.is_some();
    let content = match content {
        Some(content) => content,
        None => {
            let whole = text_of(result);
            if schema.is_none() && whole.len() > RESULT_BYTES_MAX {
                return shortened_reply(run, &whole);
            }
            vec![ContentBlock::text(whole)]
        }
    };
    let mut reply = CallToolResult::success(content);
    reply.structured_content = match schema {
        Some(schema) if !is_object(schema) => Some(wrapped(result)),
        None if is_content => None,
        Some(_) | None => Some(structured(result)),
    };
    reply
}

/// A data reply: an object as it is, anything else under `result`; always with text.
pub(super) fn success(result: &Value) -> CallToolResult {
    let mut reply = CallToolResult::success(vec![text(result)]);
    reply.structured_content = Some(structured(result));
    reply
}

fn text(result: &Value) -> ContentBlock {
    ContentBlock::text(text_of(result))
}

/// A text as it is, anything else as JSON.
fn text_of(result: &Value) -> String {
    match result {
        Value::String(text) => text.to_string(),
        other => other.to_json(),
    }
}

/// An object as it is, anything else under `result`.
fn structured(result: &Value) -> serde_json::Value {
    match result {
        Value::Object(_) => result.into(),
        other => wrapped(other),
    }
}

fn wrapped(result: &Value) -> serde_json::Value {
    serde_json::json!({ "result": serde_json::Value::from(result) })
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// The schema of the `structuredContent` of [`given`]. Older clients accept only an object schema.
pub(super) fn output_schema(schema: &Value) -> JsonObject {
    let mut plain = match serde_json::Value::from(schema) {
        serde_json::Value::Object(map) => map,
        other => return wrapper(other),
    };
    if is_object(schema) {
        return plain;
    }
    // Definitions stay at the root, where references look for them.
    let rooted = ["$schema", "$defs", "definitions"].map(|key| (key, plain.shift_remove(key)));
    let mut wrapped = wrapper(plain.into());
    for (key, value) in rooted {
        wrapped.extend(value.map(|value| (key.to_owned(), value)));
    }
    wrapped
}

fn wrapper(schema: serde_json::Value) -> JsonObject {
    let mut wrapped = JsonObject::new();
    wrapped.insert("type".into(), "object".into());
    wrapped.insert("properties".into(), serde_json::json!({ "result": schema }));
    wrapped.insert("required".into(), serde_json::json!(["result"]));
    wrapped
}

/// An error of a tool with an output schema is text only: some clients validate every structured result against
/// the schema and would drop the error.
pub(super) fn without_unpromised_structure(
    graph: &Graph,
    mut reply: CallToolResult,
) -> CallToolResult {
    if reply.is_error == Some(true) && graph.workflow.output_schema.is_some() {
        reply.structured_content = None;
    }
    reply
}

/// The reply for a paused run: nothing failed, but there is no result.
pub(super) fn paused_reply(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)]) -> CallToolResult {
    let waiting = pauses
        .iter()
        .map(|(seq, pause)| pause_view::pause_value(graph, run, *seq, pause));
    let mut error = Map::new();
    error.insert("status", "paused".into());
    error.insert("code", "paused".into());
    error.insert("run_id", run.as_str().into());
    let message = "the run waits for a person; `waiting` has each question and who can answer it";
    error.insert("message", message.into());
    error.insert("waiting", Value::array(waiting));
    error_reply(error)
}

/// The reply for a fault outside a run.
pub(super) fn fault_reply(fault: &Fault, run: Option<&RunId>) -> CallToolResult {
    let DescribedFault {
        code,
        message,
        data,
    } = error_codes::describe_fault(fault);
    let mut error = error_object(code, message, data);
    if let Some(run) = run {
        error.insert("run_id", run.as_str().into());
    }
    error_reply(error)
}

/// An error object: `code`, `message`, and `data` with the code's name.
pub(super) fn error_object(code: ReplyCode, message: impl Into<Value>, mut data: Map) -> Map {
    let mut error = Map::new();
    error.insert("code", code.number().into());
    error.insert("message", message.into());
    data.insert("name", code.name().into());
    error.insert("data", data.into());
    error
}

/// The reply for a result or a fault.
pub(super) fn reply_or_fault(made: Result<Value, Fault>, run: Option<&RunId>) -> CallToolResult {
    match made {
        Ok(value) => success(&value),
        Err(why) => fault_reply(&why, run),
    }
}

/// The reply for arguments that the schema rejects.
pub(super) fn bad_arguments(tool: &str, faults: &SchemaErrors) -> CallToolResult {
    let message = invalid_arguments_message(tool, faults);
    error_reply(error_object(ReplyCode::InvalidParams, message, Map::new()))
}

/// The message for invalid arguments.
pub(super) fn invalid_arguments_message(tool: &str, faults: &SchemaErrors) -> String {
    let what: Vec<_> = faults
        .iter()
        .map(|(pointer, message)| match pointer.as_str() {
            "" => message.clone(),
            pointer => format!("{pointer}: {message}"),
        })
        .collect();
    format!("invalid arguments for `{tool}`: {}", what.join("; "))
}

/// A timestamp as shown in replies: ISO 8601 in UTC.
pub(super) fn timestamp(at_ms: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// An error reply. An error without a code gets `InvalidParams`.
pub(super) fn error_reply(mut error: Map) -> CallToolResult {
    if error.get("code").is_none() {
        error.insert("code", ReplyCode::InvalidParams.number().into());
    }
    let whole = Value::object([("error", Value::from(error))]);
    let mut reply = CallToolResult::error(vec![ContentBlock::text(whole.to_json())]);
    reply.structured_content = Some(serde_json::Value::from(&whole));
    reply
}

#[cfg(test)]
mod tests;
