//! Converts an MCP tool result to a step's output: one value, or a failure.

use super::RedactText;
use super::bounded_reader::TOO_LONG_CODE;
use rmcp::model::{ErrorCode, ErrorData};
use tramline_expr::{Map, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// Maximum length of a failure message taken from a tool's text, in characters. The full text is in the
/// failure's data.
const MESSAGE_CHARS_MAX: usize = 4_000;

/// A step's output: the structured content if present, otherwise the content items.
pub(super) fn output(tool: &ToolName, result: &str, redact: &RedactText) -> Result<Value, Failure> {
    let Ok(result) = Value::from_json(result) else {
        return Err(bad_answer(
            tool,
            "returned unreadable JSON; is it nested too deeply?",
        ));
    };
    let Some(parts) = result.as_object() else {
        return Err(bad_answer(
            tool,
            "returned a result that is not a JSON object",
        ));
    };
    match parts.get("resultType").and_then(Value::as_str) {
        Some("input_required") => Err(Failure::new(
            FailureKind::Tool,
            format!("{tool} asks for input during the call, which a step cannot provide"),
        )),
        Some("task") => Err(bad_answer(tool, "started a task that was not requested")),
        // A missing type means `complete`; an unknown type is judged by its content.
        Some(_) | None => completed_output(tool, parts, redact),
    }
}

/// The failure for a JSON-RPC error.
pub(super) fn rpc_error_failure(tool: &ToolName, error: ErrorData) -> Failure {
    let kind = match error.code {
        ErrorCode(TOO_LONG_CODE) => {
            return Failure::new(
                FailureKind::BadAnswer,
                format!("{tool} returned {}", error.message),
            );
        }
        ErrorCode::INVALID_PARAMS => FailureKind::BadArguments,
        _ => FailureKind::Tool,
    };
    let mut data = Map::new();
    data.insert("code", i64::from(error.code.0).into());
    if let Some(more) = error.data {
        data.insert("data", more.into());
    }
    Failure::new(kind, format!("{tool} returned an error: {}", error.message))
        .with_data(data.into())
}

fn completed_output(tool: &ToolName, result: &Map, redact: &RedactText) -> Result<Value, Failure> {
    let content = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent");
    let says_nothing = |key: &str| matches!(key, "_meta" | "resultType" | "isError");
    if content.is_none() && structured.is_none() && !result.iter().all(|(key, _)| says_nothing(key))
    {
        return Err(bad_answer(tool, "returned no content"));
    }
    let content = content.unwrap_or_default();
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(tool_error_failure(tool, content, structured, redact));
    }
    match structured {
        Some(structured) => Ok(structured.clone()),
        None => Ok(items_value(content.iter().map(item_value))),
    }
}

/// One item becomes itself, several become a list, none becomes null.
fn items_value(mut items: impl ExactSizeIterator<Item = Value>) -> Value {
    match items.len() {
        0 => Value::Null,
        1 => items.next().unwrap_or_default(),
        _ => Value::array(items),
    }
}

/// Text that parses as JSON becomes that value; other text and other content stay as they are.
fn item_value(item: &Value) -> Value {
    match item_text(item) {
        Some(text) => Value::from_json(text).unwrap_or_else(|_| text.into()),
        None => item.clone(),
    }
}

fn item_text(item: &Value) -> Option<&str> {
    let is_text = item.get("type").and_then(Value::as_str) == Some("text");
    item.get("text").and_then(Value::as_str).filter(|_| is_text)
}

fn tool_error_failure(
    tool: &ToolName,
    content: &[Value],
    structured: Option<&Value>,
    redact: &RedactText,
) -> Failure {
    let texts: Vec<_> = content.iter().filter_map(item_text).collect();
    let mut data = Map::new();
    data.insert("content", Value::array(content.iter().cloned()));
    if let Some(structured) = structured {
        data.insert("structuredContent", structured.clone());
    }
    let message = match texts.join("\n").trim() {
        "" => format!("{tool} failed without a message"),
        said => redact.excerpt(said, MESSAGE_CHARS_MAX),
    };
    Failure::new(FailureKind::Tool, message).with_data(data.into())
}

pub(super) fn bad_answer(tool: &ToolName, says: &str) -> Failure {
    Failure::new(FailureKind::BadAnswer, format!("{tool} {says}"))
}

#[cfg(test)]
mod tests;
