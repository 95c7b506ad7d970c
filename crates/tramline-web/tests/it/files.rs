//! Runs as files, the list with its filters, SOP sessions, and replans.

use super::support::*;
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_workflow::graph::Patch;
use tramline_workflow::journal::SchedulePolicy;

use tramline_engine::{RunOwner, RunStart, SopStart};
use tramline_workflow::workflow::{Action, Edge, Node};

#[tokio::test]
async fn a_run_goes_into_a_file_and_comes_back_as_one_that_is_over() {
    let engine = engine();
    let routes = api(&engine);
    let (run, _) = waiting(&engine, None).await;
    let (status, file) = asked_text(&routes, &format!("/api/runs/{run}/export")).await;
    assert_eq!(status, StatusCode::OK);
    let mut file: Json = serde_json::from_str(&file).unwrap();
    assert_eq!(
        (&file["tramline_run"], &file["run_id"]),
        (&json!(1), &json!(run))
    );
    let (status, told) = post(&routes, "/api/runs/import", file.clone()).await;
    assert_eq!(
        (status, &told["status"]),
        (StatusCode::CREATED, &json!("aborted")),
        "{told}"
    );
    let copy = told["run_id"].as_str().unwrap();
    assert_ne!(copy, run);
    let (_, one) = get(&routes, &format!("/api/runs/{copy}")).await;
    assert_eq!(
        (&one["status"], &one["questions"]),
        (&json!("aborted"), &json!([]))
    );
    let (status, _) = post(&routes, &format!("/api/runs/{copy}/continue"), json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(engine.resume(&copy.parse().unwrap()).await.is_err());
    let (_, graph) = get(&routes, &format!("/api/runs/{copy}/graph")).await;
    assert_eq!(graph["name"], "order");
    file["tramline_run"] = json!(2);
    let (status, told) = post(&routes, "/api/runs/import", file.clone()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("version 2")
    );
    file["tramline_run"] = json!(1);
    let journal = file["journal"].as_array_mut().unwrap();
    journal.insert(1, journal[0].clone());
    let (status, _) = post(&routes, "/api/runs/import", file).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(
        post(&routes, "/api/runs/import", json!({})).await.0,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn a_run_that_ended_comes_back_as_it_ended_and_belongs_to_who_brought_it() {
    let routes = api(&engine());
    let run = started(&routes, "judge", json!({"input": {"total": 60}})).await;
    let (_, file) = get(&routes, &format!("/api/runs/{run}/export")).await;
    let ann = || RunOwner(Some("ann".into()));
    let (_, told) = asked(&routes, "/api/runs/import", Some(file), ann()).await;
    assert_eq!(told["status"], "completed");
    let path = format!("/api/runs/{}", told["run_id"].as_str().unwrap());
    assert_eq!(get(&routes, &path).await.0, StatusCode::NOT_FOUND);
    let (_, one) = asked(&routes, &path, None, ann()).await;
    assert_eq!(one["outcome"]["result"], "dear");
}

#[tokio::test]
async fn runs_are_found_by_text_and_time() {
    let routes = api(&engine());
    let run = started(
        &routes,
        "judge",
        json!({"input": {"total": 1}, "session_id": "Blue"}),
    )
    .await;
    started(&routes, "judge", json!({"input": {"total": 2}})).await;
    let count = async |query: &str| {
        let (_, told) = get(&routes, &format!("/api/runs?{query}")).await;
        told["runs"].as_array().unwrap().len()
    };
    assert_eq!(count("text=blue").await, 1);
    assert_eq!(count("text=JUDGE").await, 2);
    assert_eq!(count(&format!("text={}", &run[4..])).await, 1);
    assert_eq!(count("text=nothing").await, 0);
    assert_eq!(count("since_ms=99999999999999").await, 0);
    assert_eq!(count("until_ms=1").await, 0);
    assert_eq!(count("since_ms=1&until_ms=99999999999999").await, 2);
}

const SOP: &str =
    "```mermaid\nflowchart TD\nSTART[Ask] -->|known| LOOK[Look it up]\nLOOK --> END([Done])\n```\n";

#[tokio::test]
async fn a_walk_is_told_over_its_drawing() {
    let engine = engine();
    let routes = api(&engine);
    let read = sop_markdown::read(SOP.as_bytes(), "refund").unwrap();
    let run = engine
        .start_sop_session(SopStart {
            sops: vec![Arc::new(read.sop)],
            files: Vec::new(),
            session: None,
            origin: Value::Null,
            owner: None,
            by: None,
            ttl_ms: None,
            pinned: None,
        })
        .await
        .unwrap();
    for to in ["START", "END", "LOOK"] {
        let word = tramline_sop::MoveRequest {
            node: Some(to.into()),
            reason: Some("asked".into()),
            ..tramline_sop::MoveRequest::default()
        };
        let done = engine
            .update_sop_session(&run, |walk| tramline_sop::move_to(walk, &word), |_, _| ())
            .await;
        done.unwrap();
    }
    let (_, told) = get(&routes, &format!("/api/runs/{run}/walk")).await;
    assert_eq!(
        (&told["here"], &told["procedure"]["name"]),
        (&json!("LOOK"), &json!("refund"))
    );
    let path: Vec<_> = told["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["node"])
        .collect();
    assert_eq!(path, ["START", "LOOK"]);
    assert_eq!(told["path"][1]["reason"], "asked");
    assert_eq!(
        (&told["refused"][0]["target"], &told["refused"][0]["node"]),
        (&json!("END"), &json!("START"))
    );
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(
        (&one["kind"], &one["status"]),
        (&json!("guided"), &json!("guided"))
    );
    let (_, stood) = get(&routes, &format!("/api/runs/{run}/at/2")).await;
    assert_eq!(stood["nodes"]["START"]["status"], "running", "{stood}");
    let (_, graph) = get(&routes, &format!("/api/runs/{run}/graph")).await;
    assert_eq!(graph["nodes"][0]["kind"], "entry");
    let (_, runs) = get(&routes, "/api/runs").await;
    assert_eq!(runs["runs"][0]["kind"], "guided");
    let (_, file) = get(&routes, &format!("/api/runs/{run}/export")).await;
    let (status, told) = post(&routes, "/api/runs/import", file).await;
    assert_eq!(
        (status, &told["status"]),
        (StatusCode::CREATED, &json!("aborted"))
    );
    let other = started(&routes, "judge", json!({"input": {"total": 1}})).await;
    let (status, _) = get(&routes, &format!("/api/runs/{other}/walk")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_replan_is_told_as_what_it_adds() {
    let engine = engine();
    let routes = api(&engine);
    let mut start = RunStart::new(graph(), Value::from(json!({})));
    start.policy = SchedulePolicy::Layered;
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let action = Action::Compute {
        expression: "1".into(),
    };
    let patch = Patch {
        nodes: vec![Node::new("more", action)],
        edges: vec![Edge::new("look", "more")],
    };
    engine.amend(&run, patch, "ann".into()).await.unwrap();
    let (_, told) = get(&routes, &format!("/api/runs/{run}/amendments")).await;
    let made = &told["amendments"][0];
    assert_eq!(
        (&made["by"], &made["added"]),
        (&json!("ann"), &json!(["more"]))
    );
    assert_eq!(made["edges"], json!([["look", "more"]]));
    let point = told["proposed"]["checkpoint_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_, graph) = get(&routes, &format!("/api/runs/{run}/graph")).await;
    let more = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["id"] == "more");
    assert_eq!(more.unwrap()["patch"], 1);
    let (_, before) = get(&routes, &format!("/api/runs/{run}/graph?seq=1")).await;
    assert_eq!(before["nodes"].as_array().unwrap().len(), 2);
    let (status, _) = post(
        &routes,
        &format!("/api/approvals/{point}"),
        json!({"answer": "proceed"}),
    )
    .await;
    assert_eq!(status, StatusCode::OK);
    rested(&routes, run.as_str()).await;
    let (_, told) = get(&routes, &format!("/api/runs/{run}/amendments")).await;
    assert!(told.get("proposed").is_none(), "{told}");
}
