//! From what MCP answers to what a step gives: one value, or a failure.

use super::lines::TOO_LONG_CODE;
use rmcp::model::{ErrorCode, ErrorData};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::{Map, Value};

/// A failed tool's words are its failure's message up to here; all of them stand in its data.
const MESSAGE_CHARS_MAX: usize = 4_000;

/// What a step gives: structured content if there is any, else the content items.
pub(super) fn output(tool: &ToolName, result: &str) -> Result<Value, Failure> {
    let Ok(result) = Value::from_json(result) else {
        return Err(bad(
            tool,
            "answered with what cannot be read; is it nested too deep?",
        ));
    };
    let Some(parts) = result.as_object() else {
        return Err(bad(tool, "answered with a result that is none of a tool's"));
    };
    match parts.get("resultType").and_then(Value::as_str) {
        Some("input_required") => Err(Failure::new(
            FailureKind::Tool,
            format!("{tool} asks for input in the middle of the call, which no step can give"),
        )),
        Some("task") => Err(bad(tool, "started a task nobody asked for")),
        // An absent one means the same as `complete`; what is new is judged by what it brings.
        Some(_) | None => complete(tool, parts),
    }
}

/// The failure behind a JSON-RPC error.
pub(super) fn refused(tool: &ToolName, error: ErrorData) -> Failure {
    let kind = match error.code {
        ErrorCode(TOO_LONG_CODE) => {
            return Failure::new(
                FailureKind::BadAnswer,
                format!("{tool} answered with {}", error.message),
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
    Failure::new(kind, format!("{tool} refused: {}", error.message)).with_data(data.into())
}

fn complete(tool: &ToolName, result: &Map) -> Result<Value, Failure> {
    let content = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent");
    let says_nothing = |key: &str| matches!(key, "_meta" | "resultType" | "isError");
    if content.is_none() && structured.is_none() && !result.iter().all(|(key, _)| says_nothing(key))
    {
        return Err(bad(tool, "answered without any content"));
    }
    let content = content.unwrap_or_default();
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(failed(tool, content, structured));
    }
    match structured {
        Some(structured) => Ok(structured.clone()),
        None => Ok(items(content.iter().map(item))),
    }
}

/// One item is itself, several are a list, none is null.
fn items(mut items: impl ExactSizeIterator<Item = Value>) -> Value {
    match items.len() {
        0 => Value::Null,
        1 => items.next().unwrap_or_default(),
        _ => Value::array(items),
    }
}

/// Text that is JSON is what it says; any other is itself, and so is what is no text.
fn item(item: &Value) -> Value {
    match text(item) {
        Some(text) => Value::from_json(text).unwrap_or_else(|_| text.into()),
        None => item.clone(),
    }
}

fn text(item: &Value) -> Option<&str> {
    let is_text = item.get("type").and_then(Value::as_str) == Some("text");
    item.get("text").and_then(Value::as_str).filter(|_| is_text)
}

fn failed(tool: &ToolName, content: &[Value], structured: Option<&Value>) -> Failure {
    let texts: Vec<_> = content.iter().filter_map(text).collect();
    let mut data = Map::new();
    data.insert("content", Value::array(content.iter().cloned()));
    if let Some(structured) = structured {
        data.insert("structuredContent", structured.clone());
    }
    tool_failure(tool, &texts.join("\n"), data)
}

/// The beginning of a long text, to the end of a word: half a secret is not known for one.
fn cut(said: &str) -> String {
    let Some((end, _)) = said.char_indices().nth(MESSAGE_CHARS_MAX) else {
        return said.to_owned();
    };
    let words = said[..end].rfind(char::is_whitespace).unwrap_or(0);
    format!("{} …", said[..words].trim_end())
}

fn tool_failure(tool: &ToolName, said: &str, data: Map) -> Failure {
    let message = match said.trim() {
        "" => format!("{tool} failed and did not say why"),
        said => cut(said),
    };
    Failure::new(FailureKind::Tool, message).with_data(data.into())
}

pub(super) fn bad(tool: &ToolName, says: &str) -> Failure {
    Failure::new(FailureKind::BadAnswer, format!("{tool} {says}"))
}

#[cfg(test)]
mod tests;
