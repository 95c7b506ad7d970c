//! What lists and pages say about a run besides its status: failures, rejections, previews.

use super::support::*;
use axum::http::StatusCode;
use serde_json::json;
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, EngineOptions, RunOwner, RunStart};
use tramline_expr::Value;
use tramline_formats::{KnownServers, ReadOptions, json_dag};
use tramline_workflow::failure::{Failure, FailureKind};

#[tokio::test]
async fn a_rejected_run_says_who_where_and_why() {
    let engine = engine();
    let routes = api(&engine);
    let (run, point) = waiting(&engine, None).await;
    let no = json!({"answer": "reject", "by": "ann", "why": "too dear"});
    let path = format!("/api/approvals/{point}");
    let (status, _) = asked(&routes, &path, Some(no), RunOwner::default()).await;
    assert_eq!(status, StatusCode::OK);
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(one["status"], "rejected");
    assert_eq!(one["rejection"]["node"], "act");
    assert_eq!(one["rejection"]["by"], "http ann");
    assert_eq!(one["rejection"]["why"], "too dear");
    let last = one["events"].as_u64().unwrap();
    let (_, then) = get(&routes, &format!("/api/runs/{run}/at/{last}")).await;
    assert_eq!(then["rejection"]["why"], "too dear");
    let (_, then) = get(&routes, &format!("/api/runs/{run}/at/2")).await;
    assert!(then.get("rejection").is_none(), "{then}");
    let (_, listed) = get(&routes, "/api/runs?text=DEAR").await;
    assert_eq!(listed["runs"][0]["outcome_preview"], "too dear");
}

#[tokio::test]
async fn failed_steps_of_a_completed_run_are_counted() {
    let broken = |_| async { Err(Failure::new(FailureKind::Tool, "no such file")) };
    let tools = FakeTools::new().tool("t", "look", ToolHints::default(), broken);
    let options = EngineOptions::default();
    let engine = Engine::new(Arc::new(MemoryStore::new()), Arc::new(tools), options);
    let tasks = json!({"tasks": [
        {"id": "gone", "tool": "t:look", "arguments": {}},
        {"id": "fine", "expr": "1 + 1"},
    ]});
    let hint = ReadOptions {
        name: "partly",
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    let document = json_dag::read_value(&Value::from(tasks), hint).unwrap();
    let start = RunStart::new(Arc::clone(&document.workflows[0]), Value::from(json!({})));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.to_string();
    handle.wait().await.unwrap();
    let routes = api(&engine);
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(one["status"], "completed");
    assert_eq!(one["failures"]["count"], 1);
    assert_eq!(one["failures"]["steps"][0]["node"], "gone");
    assert_eq!(one["failures"]["steps"][0]["message"], "no such file");
    let (_, listed) = get(&routes, "/api/runs").await;
    assert_eq!(listed["runs"][0]["failures"], 1);
}

#[tokio::test]
async fn runs_are_found_by_their_input_and_previews_are_listed() {
    let routes = api(&engine());
    let run = started(&routes, "judge", json!({"input": {"total": 4711}})).await;
    let (_, listed) = get(&routes, "/api/runs?text=4711").await;
    assert_eq!(listed["runs"][0]["run_id"], json!(run));
    assert_eq!(listed["runs"][0]["input_preview"], "total: 4711");
    assert_eq!(listed["runs"][0]["outcome_preview"], "dear");
    assert_eq!(listed["runs"][0]["failures"], 0);
    let (_, listed) = get(&routes, "/api/runs?text=4712").await;
    assert_eq!(listed["runs"], json!([]));
    // A finished run is not restricted by whether a process drives it.
    let (_, listed) = get(&routes, "/api/runs?driven=false").await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_graph_of_a_workflow_and_all_statuses_are_listed() {
    let routes = api(&engine());
    let (status, graph) = get(&routes, "/api/tools/judge/graph").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 7);
    let (status, _) = get(&routes, "/api/tools/judgement/graph").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, about) = get(&routes, "/api/about").await;
    for known in about["statuses"].as_array().unwrap() {
        let known = known.as_str().unwrap();
        let (status, _) = get(&routes, &format!("/api/runs?status={known}")).await;
        assert_eq!(status, StatusCode::OK, "{known}");
    }
}
