//! The chat completions API: the request, and how a streamed answer is assembled.

use crate::endpoint::Endpoint;
use crate::sse::{ResponseBuffer, SseEvent};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tramline_engine::ports::{Message, Prompt, Role};

/// The request for a prompt.
pub(crate) fn request(client: &Client, endpoint: &Endpoint, prompt: &Prompt) -> RequestBuilder {
    let messages: Vec<_> = prompt.messages.iter().map(message).collect();
    let mut body = json!({
        "model": prompt.model.as_deref().unwrap_or(&endpoint.name),
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if prompt.tokens_max > 0 {
        body["max_tokens"] = prompt.tokens_max.into();
    }
    if let Some(temperature) = prompt.temperature.or(endpoint.temperature) {
        body["temperature"] = temperature.into();
    }
    if let Some(schema) = &prompt.schema {
        let schema = serde_json::to_value(schema).unwrap_or_default();
        let strict = is_strict(&schema);
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": strict},
        });
    }
    let request = client
        .post(endpoint.url_for("chat/completions"))
        .body(body.to_string());
    match &endpoint.key {
        Some(key) => request.bearer_auth(key.reveal()),
        None => request,
    }
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({"role": role, "content": message.text})
}

/// Whether a schema qualifies for strict mode: every object closed, every property required. Strict mode rejects other
/// schemas; without it the model follows them on a best-effort basis.
fn is_strict(schema: &Value) -> bool {
    let Some(map) = schema.as_object() else {
        return schema
            .as_array()
            .is_none_or(|all| all.iter().all(is_strict));
    };
    let closed = match map.get("properties").and_then(Value::as_object) {
        Some(properties) => {
            let required = map.get("required").and_then(Value::as_array);
            let asked = |name: &str| {
                required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
            };
            map.get("additionalProperties") == Some(&Value::Bool(false))
                && properties.keys().all(|name| asked(name))
        }
        None => map.get("type").and_then(Value::as_str) != Some("object"),
    };
    closed && map.values().all(is_strict)
}

/// Processes one event of the stream, or a whole answer that was not streamed.
pub(crate) fn push_event(piece: &SseEvent, heard: &mut ResponseBuffer) {
    if piece.data == "[DONE]" {
        heard.done = true;
        return;
    }
    let Ok(value) = serde_json::from_str::<Value>(&piece.data) else {
        return;
    };
    if let Some(says) = value.pointer("/error/message").and_then(Value::as_str) {
        heard.error = Some(says.to_owned());
    }
    for place in ["/choices/0/delta/content", "/choices/0/message/content"] {
        if let Some(text) = value.pointer(place).and_then(Value::as_str) {
            heard.text.push_str(text);
        }
    }
    let reason = value.pointer("/choices/0/finish_reason");
    if let Some(reason) = reason.and_then(Value::as_str) {
        heard.done = true;
        heard.truncated = reason == "length";
    }
    if let Some(total) = value.pointer("/usage/total_tokens").and_then(Value::as_u64) {
        heard.tokens = Some(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_schemas_are_strict() {
        let closed = json!({"type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
        assert!(is_strict(&closed));
        let open = json!({"type": "object", "required": ["a"], "properties": {"a": {}}});
        assert!(!is_strict(&open));
        let optional = json!({"type": "object", "additionalProperties": false,
            "properties": {"a": {"type": "string"}}});
        assert!(!is_strict(&optional));
        let within = json!({"type": "array", "items": {"type": "object"}});
        assert!(!is_strict(&within));
    }
}
