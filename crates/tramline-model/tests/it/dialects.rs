//! What is sent in each dialect, and how streamed and whole answers are read.

use crate::server::{Reply, Server};
use crate::{model, prompt};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::ports::Model;
use tramline_engine::testing::model_contract;
use tramline_expr::Value;
use tramline_model::Dialect;

fn body(request: &str) -> Json {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"answer": {"type": "string"}},
        "required": ["answer"], "additionalProperties": false})
    .into()
}

fn openai_stream(parts: &[&str]) -> Reply {
    let mut lines: Vec<_> = parts
        .iter()
        .map(|part| json!({"choices": [{"delta": {"content": part}}]}).to_string())
        .collect();
    lines.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string());
    lines.push(json!({"choices": [], "usage": {"total_tokens": 17}}).to_string());
    lines.push("[DONE]".into());
    Reply::Stream(lines)
}

fn anthropic_stream(parts: &[&str], key: &str) -> Reply {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 10}}});
    let delta = |part: &&str| json!({"type": "content_block_delta", "delta": {key: part}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 7}});
    let stop = json!({"type": "message_stop"});
    let all = [start].into_iter().chain(parts.iter().map(delta));
    let all = all.chain([end, stop]).map(|line| line.to_string());
    Reply::Stream(all.collect())
}

#[tokio::test]
async fn chat_completions_are_asked_for_and_put_together() {
    let server = Server::start(vec![openai_stream(&["{\"answer\"", ": \"blue\"}"])]).await;
    let model = model(Dialect::OpenAi, &server.url);
    let answer = model
        .complete(prompt("Which?", Some(schema())))
        .await
        .unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.tokens),
        ("{\"answer\": \"blue\"}", 17)
    );
    let asked = &server.asked()[0];
    assert!(asked.starts_with("POST /v1/chat/completions "), "{asked}");
    assert!(
        asked
            .to_lowercase()
            .contains("authorization: bearer sk-very-secret")
    );
    let sent = body(asked);
    assert_eq!(
        sent["messages"][0],
        json!({"role": "system", "content": "Be short."})
    );
    assert_eq!(sent["model"], "small");
    assert_eq!(sent["max_tokens"], 50);
    assert_eq!(sent["response_format"]["json_schema"]["strict"], true);
}

#[tokio::test]
async fn messages_are_asked_for_and_put_together() {
    let script = vec![anthropic_stream(
        &["{\"answer\":", "\"blue\"}"],
        "partial_json",
    )];
    let server = Server::start(script).await;
    let model = model(Dialect::Anthropic, &server.url);
    let answer = model
        .complete(prompt("Which?", Some(schema())))
        .await
        .unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.tokens),
        ("{\"answer\":\"blue\"}", 17)
    );
    let asked = &server.asked()[0];
    assert!(asked.starts_with("POST /v1/messages "), "{asked}");
    assert!(asked.to_lowercase().contains("x-api-key: sk-very-secret"));
    let sent = body(asked);
    assert_eq!(sent["system"], "Be short.");
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": "Which?"}])
    );
    assert_eq!(sent["tool_choice"]["name"], "answer");
}

#[tokio::test]
async fn both_keep_the_contract() {
    let script = vec![
        openai_stream(&["hel", "lo"]),
        openai_stream(&["{\"answer\":\"blue\"}"]),
    ];
    let server = Server::start(script).await;
    model_contract(Arc::new(model(Dialect::OpenAi, &server.url))).await;
    let script = vec![
        anthropic_stream(&["hel", "lo"], "text"),
        anthropic_stream(&["{\"answer\":\"blue\"}"], "partial_json"),
    ];
    let server = Server::start(script).await;
    model_contract(Arc::new(model(Dialect::Anthropic, &server.url))).await;
}

#[tokio::test]
async fn who_does_not_stream_is_understood() {
    let whole = json!({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]});
    let server = Server::start(vec![Reply::Whole(200, "", whole.to_string())]).await;
    let answer = model(Dialect::OpenAi, &server.url)
        .complete(prompt("Hi", None))
        .await
        .unwrap();
    assert_eq!(answer.text, "hello");
    // Without reported usage, the count is an estimate from the length.
    assert!(answer.tokens > 2, "{}", answer.tokens);
    let whole = json!({"type": "message", "content": [{"type": "text", "text": "hel"},
        {"type": "text", "text": "lo"}], "usage": {"input_tokens": 3, "output_tokens": 4}});
    let server = Server::start(vec![Reply::Whole(200, "", whole.to_string())]).await;
    let answer = model(Dialect::Anthropic, &server.url)
        .complete(prompt("Hi", None))
        .await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), ("hello", 7));
}
