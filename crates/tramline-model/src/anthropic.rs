//! The Anthropic Messages API: the request, and how a streamed answer is assembled.
//!
//! An answer that must match a schema is requested as the arguments of a mandatory tool.

use crate::endpoint::Endpoint;
use crate::sse::{ResponseBuffer, SseEvent};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tramline_engine::ports::{Prompt, Role};

/// The API version.
const VERSION: &str = "2023-06-01";
/// Longest answer, in tokens, if the prompt has no limit. This API requires one.
const TOKENS_MAX: u32 = 4_096;
/// The tool that carries an answer that must match a schema.
const ANSWER: &str = "answer";

/// The request for a prompt.
pub(crate) fn request(client: &Client, endpoint: &Endpoint, prompt: &Prompt) -> RequestBuilder {
    let said = |role: Role| prompt.messages.iter().filter(move |one| one.role == role);
    let system: Vec<_> = said(Role::System).map(|one| one.text.as_str()).collect();
    let turns = prompt.messages.iter().filter_map(|one| match one.role {
        Role::System => None,
        Role::User => Some(json!({"role": "user", "content": one.text})),
        Role::Assistant => Some(json!({"role": "assistant", "content": one.text})),
    });
    let mut body = json!({
        "model": prompt.model.as_deref().unwrap_or(&endpoint.name),
        "messages": turns.collect::<Vec<_>>(),
        "max_tokens": if prompt.tokens_max > 0 { prompt.tokens_max } else { TOKENS_MAX },
        "stream": true,
    });
    if !system.is_empty() {
        body["system"] = system.join("\n\n").into();
    }
    if let Some(temperature) = prompt.temperature.or(endpoint.temperature) {
        body["temperature"] = temperature.into();
    }
    if let Some(schema) = &prompt.schema {
        let schema = serde_json::to_value(schema).unwrap_or_default();
        body["tools"] = json!([{"name": ANSWER, "description": "Gives the answer.",
            "input_schema": schema}]);
        body["tool_choice"] = json!({"type": "tool", "name": ANSWER});
    }
    let request = client
        .post(endpoint.url_for("messages"))
        .header("anthropic-version", VERSION)
        .body(body.to_string());
    match &endpoint.key {
        Some(key) => request.header("x-api-key", key.reveal()),
        None => request,
    }
}

/// Processes one event of the stream, or a whole answer that was not streamed.
pub(crate) fn push_event(piece: &SseEvent, heard: &mut ResponseBuffer) {
    let Ok(value) = serde_json::from_str::<Value>(&piece.data) else {
        return;
    };
    let text = |place: &str| value.pointer(place).and_then(Value::as_str);
    match text("/type") {
        Some("error") => {
            heard.error = Some(text("/error/message").unwrap_or("an error").to_owned());
        }
        Some("message") => push_whole_answer(&value, heard),
        Some("message_stop") => heard.done = true,
        Some("content_block_delta") => {
            let delta = text("/delta/text").or_else(|| text("/delta/partial_json"));
            heard.text.push_str(delta.unwrap_or_default());
        }
        Some(_) | None => {}
    }
    if text("/delta/stop_reason").or_else(|| text("/stop_reason")) == Some("max_tokens") {
        heard.truncated = true;
    }
    let count = |place: &str| value.pointer(place).and_then(Value::as_u64);
    let read = count("/message/usage/input_tokens").or_else(|| count("/usage/input_tokens"));
    // The count of output tokens is cumulative and sent repeatedly, that of input tokens once.
    if let Some(read) = read {
        heard.input_tokens = read;
    }
    if let Some(written) = count("/usage/output_tokens") {
        heard.tokens = Some(heard.input_tokens + written);
    }
}

fn push_whole_answer(value: &Value, heard: &mut ResponseBuffer) {
    heard.done = true;
    let blocks = value.get("content").and_then(Value::as_array);
    for block in blocks.into_iter().flatten() {
        match (
            block.get("text").and_then(Value::as_str),
            block.get("input"),
        ) {
            (Some(text), _) => heard.text.push_str(text),
            (None, Some(input)) => heard.text.push_str(&input.to_string()),
            (None, None) => {}
        }
    }
}
