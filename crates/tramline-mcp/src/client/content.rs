//! From what MCP answers to what a step gives: one value, or a failure.

use super::lines::TOO_LONG_CODE;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData, ServerResult};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::{Map, Value};

/// A failed tool's words are its failure's message up to here; all of them stand in its data.
const MESSAGE_CHARS_MAX: usize = 4_000;

/// What a step gives: structured content if there is any, else the content items.
pub(super) fn output(tool: &ToolName, result: ServerResult) -> Result<Value, Failure> {
    match result {
        ServerResult::CallToolResult(result) => complete(tool, result),
        // Nothing but an empty object: no content, no error.
        ServerResult::EmptyResult(_) => Ok(Value::Null),
        // The library reads what it does not know (a new kind of content, say) as this.
        ServerResult::CustomResult(result) => custom(tool, result.0.into()),
        ServerResult::InputRequiredResult(_) => Err(Failure::new(
            FailureKind::Tool,
            format!("{tool} asks for input in the middle of the call, which no step can give"),
        )),
        ServerResult::CreateTaskResult(_) => Err(bad(tool, "started a task nobody asked for")),
        _ => Err(bad(tool, "answered with a result that is none of a tool's")),
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

fn complete(tool: &ToolName, result: CallToolResult) -> Result<Value, Failure> {
    if result.is_error == Some(true) {
        return Err(failed(tool, result));
    }
    if let Some(structured) = result.structured_content {
        return Ok(structured.into());
    }
    Ok(items(result.content.into_iter().map(item)))
}

/// One item is itself, several are a list, none is null.
fn items(mut items: impl ExactSizeIterator<Item = Value>) -> Value {
    match items.len() {
        0 => Value::Null,
        1 => items.next().unwrap_or_default(),
        _ => Value::array(items),
    }
}

fn item(block: ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => text_item(text.text),
        other => raw(&other),
    }
}

/// Text that is JSON is what it says; any other is itself.
fn text_item(text: String) -> Value {
    Value::from_json(&text).unwrap_or_else(|_| text.into())
}

fn raw(block: &ContentBlock) -> Value {
    serde_json::to_value(block).map_or(Value::Null, Value::from)
}

fn failed(tool: &ToolName, result: CallToolResult) -> Failure {
    let texts: Vec<_> = result
        .content
        .iter()
        .filter_map(|block| Some(block.as_text()?.text.as_str()))
        .collect();
    let mut data = Map::new();
    data.insert("content", Value::array(result.content.iter().map(raw)));
    if let Some(structured) = result.structured_content {
        data.insert("structuredContent", structured.into());
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

/// The same rules over plain JSON, for results with parts the library cannot name.
fn custom(tool: &ToolName, result: Value) -> Result<Value, Failure> {
    let content = result.get("content").and_then(Value::as_array);
    if content.is_none() && result.get("structuredContent").is_none() {
        return Err(bad(tool, "answered without any content"));
    }
    let content = content.unwrap_or_default();
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let texts: Vec<_> = content
            .iter()
            .filter_map(|item| item.get("text")?.as_str())
            .collect();
        let mut data = Map::new();
        data.insert("content", Value::array(content.iter().cloned()));
        return Err(tool_failure(tool, &texts.join("\n"), data));
    }
    if let Some(structured) = result.get("structuredContent") {
        return Ok(structured.clone());
    }
    Ok(items(content.iter().map(|item| match item.get("text") {
        Some(Value::String(text)) if item.get("type").and_then(Value::as_str) == Some("text") => {
            text_item(text.to_string())
        }
        _ => item.clone(),
    })))
}

fn bad(tool: &ToolName, says: &str) -> Failure {
    Failure::new(FailureKind::BadAnswer, format!("{tool} {says}"))
}

#[cfg(test)]
mod tests;
