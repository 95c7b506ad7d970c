//! The shape of every answer to a tool call.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Outcome, Pause};
use tramline_core::schema::Faults;
use tramline_core::{Map, Value, question, trace};
use tramline_engine::Fault;

/// How a run ended, for its caller.
pub(super) fn outcome(graph: &Graph, run: &RunId, outcome: &Outcome) -> CallToolResult {
    if let Outcome::Completed { result } = outcome {
        return success(result);
    }
    let how = trace::outcome(graph, outcome);
    let told = how.get("error").and_then(Value::as_object).cloned();
    let mut error = Map::new();
    error.insert("status", how.get("status").cloned().unwrap_or_default());
    for (key, value) in told.unwrap_or_default() {
        error.insert(key, value);
    }
    error.insert("run_id", run.as_str().into());
    errored(error)
}

/// A result: an object goes in as it is, anything else under `result`; text always beside it.
pub(super) fn success(result: &Value) -> CallToolResult {
    let text = match result {
        Value::String(text) => text.to_string(),
        other => other.to_json(),
    };
    let mut reply = CallToolResult::success(vec![ContentBlock::text(text)]);
    reply.structured_content = Some(match result {
        Value::Object(_) => serde_json::Value::from(result),
        other => serde_json::json!({ "result": serde_json::Value::from(other) }),
    });
    reply
}

/// The schema of what [`success`] puts under `structuredContent`.
pub(super) fn output_schema(schema: &Value) -> JsonObject {
    let plain = serde_json::Value::from(schema);
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    match plain {
        serde_json::Value::Object(map) if is_object => map,
        other => {
            let mut wrapped = JsonObject::new();
            wrapped.insert("type".into(), "object".into());
            wrapped.insert("properties".into(), serde_json::json!({ "result": other }));
            wrapped.insert("required".into(), serde_json::json!(["result"]));
            wrapped
        }
    }
}

/// A run that waits for a person: nothing failed, but there is no result to give.
pub(super) fn paused(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)]) -> CallToolResult {
    let waiting = pauses
        .iter()
        .map(|(seq, pause)| question::value(graph, run, *seq, pause));
    let mut error = Map::new();
    error.insert("status", "paused".into());
    error.insert("run_id", run.as_str().into());
    let message = format!("the run waits for a person; `tramline runs show {run}` tells for what");
    error.insert("message", message.into());
    error.insert("waiting", Value::array(waiting));
    errored(error)
}

/// What went wrong before or beside a run.
pub(super) fn fault(fault: &Fault, run: Option<&RunId>) -> CallToolResult {
    let mut error = Map::new();
    error.insert("message", fault.to_string().into());
    if let Some(run) = run {
        error.insert("run_id", run.as_str().into());
    }
    errored(error)
}

/// Arguments that the tool's schema does not allow.
pub(super) fn bad_arguments(tool: &str, faults: &Faults) -> CallToolResult {
    let what: Vec<_> = faults
        .iter()
        .map(|(pointer, message)| match pointer.as_str() {
            "" => message.clone(),
            pointer => format!("{pointer}: {message}"),
        })
        .collect();
    let message = format!("the arguments of `{tool}` are wrong: {}", what.join("; "));
    errored([("message", Value::from(message))].into_iter().collect())
}

/// A moment as replies show it: ISO 8601, in UTC.
pub(super) fn moment(at_ms: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

fn errored(error: Map) -> CallToolResult {
    let whole = Value::object([("error", Value::from(error))]);
    let mut reply = CallToolResult::error(vec![ContentBlock::text(whole.to_json())]);
    reply.structured_content = Some(serde_json::Value::from(&whole));
    reply
}
