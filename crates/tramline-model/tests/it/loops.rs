//! The planner loop with a model behind HTTP that answers well, badly, late or not at all.

use crate::server::{Reply, Server};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_engine::ports::{Model, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_model::{Dialect, Endpoint, HttpModel, Recorder, Redact, Replayer};
use tramline_planner::loop_runner::{LoopRequest, LoopRunner, LoopStatus, PlannerKind};
use tramline_planner::{ServiceOptions, Services};

/// An answer in parts, as endpoints stream it.
fn said(text: &str) -> Reply {
    let (first, second) = text.split_at(text.len() / 2);
    let piece = |text: &str| json!({"choices": [{"delta": {"content": text}}]}).to_string();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
    let usage = json!({"choices": [], "usage": {"total_tokens": 11}}).to_string();
    Reply::Stream(vec![
        piece(first),
        piece(second),
        end,
        usage,
        "[DONE]".into(),
    ])
}

/// An answer that is interrupted in the middle.
fn interrupted(text: &str) -> Reply {
    Reply::Torn(vec![
        json!({"choices": [{"delta": {"content": text}}]}).to_string(),
    ])
}

const GOOD: &str = r#"{"plan": [{"id": "s", "tool": "t:shout", "args": {"text": "up"}}]}"#;

fn endpoint(server: &Server) -> Endpoint {
    Endpoint {
        url: server.url.clone(),
        timeout: Duration::from_secs(5),
        idle_timeout: Duration::from_millis(300),
        attempts: 3,
        ..Endpoint::new(Dialect::OpenAi, "m")
    }
}

fn runner(model: Arc<dyn Model>) -> LoopRunner {
    let safe = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
    let tools = FakeTools::new()
        .tool("t", "shout", safe, |given: Value| async move { Ok(given) })
        .described("t", "shout", "Says a text aloud", schema);
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools), ServiceOptions::default());
    LoopRunner::new(services.planner).with_model(model)
}

async fn over(script: Vec<Reply>) -> (LoopRunner, Server) {
    let server = Server::start(script).await;
    let model = HttpModel::new(endpoint(&server));
    (runner(Arc::new(model)), server)
}

fn request() -> LoopRequest {
    LoopRequest::new("wake everybody")
}

#[tokio::test]
async fn a_plan_comes_over_http_and_is_done() {
    let (runner, server) = over(vec![said(GOOD)]).await;
    let response = runner.run(request()).await.unwrap();
    assert!(response.success(), "{response:?}");
    assert_eq!(
        (response.planner, response.tokens),
        (Some(PlannerKind::Model), 11)
    );
    let asked = &server.asked()[0];
    assert!(
        asked.contains("t:shout") && asked.contains("wake everybody"),
        "{asked}"
    );
    assert!(asked.contains("json_schema"), "{asked}");
}

#[tokio::test]
async fn malformed_plans_prose_and_wrong_arguments_are_repaired_by_one_more_question() {
    let wrapped = format!("Here you are:\n```json\n{GOOD}\n```\nGood luck!");
    for bad in [
        "Certainly! I would shout.",
        r#"{"plan": [{"tool": "t:shout", "#,
        r#"[{"tool": "t:whisper", "args": {}}]"#,
        r#"[{"tool": "t:shout", "args": {"text": 3}}]"#,
        r#"[{"tool": "t:shout"}, 7]"#,
    ] {
        let (runner, server) = over(vec![said(bad), said(&wrapped)]).await;
        let response = runner.run(request()).await.unwrap();
        assert!(response.success(), "{bad}: {response:?}");
        assert_eq!(response.tokens, 22);
        assert_eq!(server.asked().len(), 2);
        assert!(server.asked()[1].contains("That cannot be used"));
    }
}

#[tokio::test]
async fn a_model_that_never_plans_leaves_it_to_the_agent() {
    let (runner, _server) = over(vec![said("no"), said("no, really")]).await;
    let response = runner.run(request()).await.unwrap();
    assert_eq!(response.status, LoopStatus::PlanRequest);
    assert!(response.handle.is_some());
    let last = response.problems.last().unwrap();
    assert_eq!(last, "the model returned no valid plan");
}

#[tokio::test]
async fn an_unknown_tool_that_stays_is_passed_over() {
    let plan = r#"[{"tool": "t:whisper", "args": {}}, {"tool": "t:shout", "args": {"text": "a"}}]"#;
    let (runner, _server) = over(vec![said(plan), said(plan)]).await;
    let response = runner.run(request()).await.unwrap();
    assert!(response.success(), "{response:?}");
    assert!(response.results[0].unknown);
    assert_eq!(response.results[1].error, None);
}

#[tokio::test]
async fn a_model_that_hangs_is_given_up() {
    let began = Instant::now();
    let (runner, _server) = over(vec![Reply::Silent, Reply::Silent, Reply::Silent]).await;
    let response = runner.run(request()).await.unwrap();
    assert_eq!(response.status, LoopStatus::PlanRequest);
    assert!(
        response.problems[0].contains("does not respond"),
        "{:?}",
        response.problems
    );
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn a_storm_of_refusals_is_outlasted_or_told() {
    let busy = || {
        Reply::Whole(
            429,
            "retry-after: 0\r\n",
            r#"{"error":{"message":"slow down"}}"#.into(),
        )
    };
    let (runner, server) = over(vec![busy(), busy(), said(GOOD)]).await;
    assert!(runner.run(request()).await.unwrap().success());
    assert_eq!(server.asked().len(), 3);
    let (runner, server) = over(vec![busy(), busy(), busy()]).await;
    let response = runner.run(request()).await.unwrap();
    assert_eq!(response.status, LoopStatus::PlanRequest);
    assert!(
        response.problems[0].contains("slow down"),
        "{:?}",
        response.problems
    );
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_asked_for_again() {
    let (runner, server) = over(vec![interrupted("{\"plan\": [{\"tool\""), said(GOOD)]).await;
    let response = runner.run(request()).await.unwrap();
    assert!(response.success(), "{response:?}");
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn a_loop_that_was_recorded_runs_again_without_its_model() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("said.jsonl");
    let server = Server::start(vec![said("hm"), said(GOOD)]).await;
    let model = Arc::new(HttpModel::new(endpoint(&server)));
    let recorder = Recorder::new(model, &path, Redact::default()).unwrap();
    let first = runner(Arc::new(recorder)).run(request()).await.unwrap();
    let replayed = runner(Arc::new(Replayer::open(&path, Redact::default()).unwrap()));
    let second = replayed.run(request()).await.unwrap();
    assert!(first.success() && second.success());
    assert_eq!(first.plan, second.plan);
    assert_eq!(first.context, second.context);
}
