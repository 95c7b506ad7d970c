//! The shape of every answer to a tool call.

use super::codes::{self, Code, Described};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Outcome, Pause};
use tramline_core::schema::Faults;
use tramline_core::{Map, Value, question, trace};
use tramline_engine::Fault;

mod blocks;

/// How a run ended, for its caller.
pub(super) fn outcome(graph: &Graph, run: &RunId, outcome: &Outcome) -> CallToolResult {
    if let Outcome::Completed { result } = outcome {
        return given(graph, result);
    }
    let how = trace::outcome(graph, outcome);
    let told = how.get("error").and_then(Value::as_object).cloned();
    let mut error = Map::new();
    error.insert("status", how.get("status").cloned().unwrap_or_default());
    for (key, value) in told.unwrap_or_default() {
        error.insert(key, value);
    }
    error.insert("run_id", run.as_str().into());
    // A failure has a code of its own; for every other end its status is the code.
    if error.get("code").is_none() {
        error.insert("code", outcome.word().into());
    }
    as_promised(graph, errored(error))
}

/// What a graph gives. Content goes in as that, and as data only where a schema promised data.
fn given(graph: &Graph, result: &Value) -> CallToolResult {
    let schema = graph.workflow.output_schema.as_ref();
    let content = blocks::read(result);
    let is_content = content.is_some();
    let mut reply = CallToolResult::success(content.unwrap_or_else(|| vec![text(result)]));
    reply.structured_content = match schema {
        Some(schema) if !is_object(schema) => Some(wrapped(result)),
        None if is_content => None,
        Some(_) | None => Some(structured(result)),
    };
    reply
}

/// Data: an object goes in as it is, anything else under `result`; text always beside it.
pub(super) fn success(result: &Value) -> CallToolResult {
    let mut reply = CallToolResult::success(vec![text(result)]);
    reply.structured_content = Some(structured(result));
    reply
}

fn text(result: &Value) -> ContentBlock {
    match result {
        Value::String(text) => ContentBlock::text(text.as_str()),
        other => ContentBlock::text(other.to_json()),
    }
}

/// An object goes in as it is, anything else under `result`.
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

/// The schema of what [`given`] puts under `structuredContent`, which older clients take only as
/// an object.
pub(super) fn output_schema(schema: &Value) -> JsonObject {
    let mut plain = match serde_json::Value::from(schema) {
        serde_json::Value::Object(map) => map,
        other => return wrapper(other),
    };
    if is_object(schema) {
        return plain;
    }
    // What references name stays where they look for it: at the root.
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

/// An error of a tool that promised data of another shape is text alone: some clients hold every
/// structured answer to the promise, and would drop the error for it.
pub(super) fn as_promised(graph: &Graph, mut reply: CallToolResult) -> CallToolResult {
    if reply.is_error == Some(true) && graph.workflow.output_schema.is_some() {
        reply.structured_content = None;
    }
    reply
}

/// A run that waits for a person: nothing failed, but there is no result to give.
pub(super) fn paused(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)]) -> CallToolResult {
    let waiting = pauses
        .iter()
        .map(|(seq, pause)| question::value(graph, run, *seq, pause));
    let mut error = Map::new();
    error.insert("status", "paused".into());
    error.insert("code", "paused".into());
    error.insert("run_id", run.as_str().into());
    let message = format!("the run waits for a person; `tramline runs show {run}` tells for what");
    error.insert("message", message.into());
    error.insert("waiting", Value::array(waiting));
    errored(error)
}

/// What went wrong before or beside a run.
pub(super) fn fault(fault: &Fault, run: Option<&RunId>) -> CallToolResult {
    let Described {
        code,
        message,
        data,
    } = codes::describe(fault);
    let mut error = coded(code, message, data);
    if let Some(run) = run {
        error.insert("run_id", run.as_str().into());
    }
    errored(error)
}

/// An error with its code: `code`, `message`, and `data` with the code's name.
pub(super) fn coded(code: Code, message: impl Into<Value>, mut data: Map) -> Map {
    let mut error = Map::new();
    error.insert("code", code.number().into());
    error.insert("message", message.into());
    data.insert("name", code.name().into());
    error.insert("data", data.into());
    error
}

/// What a tool of ours made, or why it could not.
pub(super) fn made(made: Result<Value, Fault>, run: Option<&RunId>) -> CallToolResult {
    match made {
        Ok(value) => success(&value),
        Err(why) => fault(&why, run),
    }
}

/// Arguments that the tool's schema does not allow.
pub(super) fn bad_arguments(tool: &str, faults: &Faults) -> CallToolResult {
    let message = misread(tool, faults);
    errored(coded(Code::InvalidParams, message, Map::new()))
}

/// What is wrong with arguments, in words.
pub(super) fn misread(tool: &str, faults: &Faults) -> String {
    let what: Vec<_> = faults
        .iter()
        .map(|(pointer, message)| match pointer.as_str() {
            "" => message.clone(),
            pointer => format!("{pointer}: {message}"),
        })
        .collect();
    format!("the arguments of `{tool}` are wrong: {}", what.join("; "))
}

/// A moment as replies show it: ISO 8601, in UTC.
pub(super) fn moment(at_ms: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// An error. Every error has a code: what names none was refused as things stand.
pub(super) fn errored(mut error: Map) -> CallToolResult {
    if error.get("code").is_none() {
        error.insert("code", Code::InvalidParams.number().into());
    }
    let whole = Value::object([("error", Value::from(error))]);
    let mut reply = CallToolResult::error(vec![ContentBlock::text(whole.to_json())]);
    reply.structured_content = Some(serde_json::Value::from(&whole));
    reply
}

#[cfg(test)]
mod tests;
