//! Checking and rendering texts, listing and running workflows, without files or servers.

use super::support::*;
use axum::http::StatusCode;
use serde_json::json;

#[tokio::test]
async fn a_text_is_checked_and_its_flaws_name_their_nodes() {
    let routes = api(&engine());
    let (status, told) = post(&routes, "/api/check", json!({"text": CHOOSES})).await;
    assert_eq!((status, &told["flaws"]), (StatusCode::OK, &json!([])));
    let graph = &told["workflows"][0]["graph"];
    assert_eq!(
        (&graph["name"], &told["format"]),
        (&json!("judge"), &json!("yaml"))
    );
    let way = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["id"] == "way")
        .unwrap();
    assert_eq!((&way["kind"], &way["line"]), (&json!("choose"), &json!(11)));
    let bad = CHOOSES.replace("target: lucky", "target: luky");
    let (_, told) = post(
        &routes,
        "/api/check",
        json!({"text": bad, "name": "a.yaml"}),
    )
    .await;
    let flaw = &told["flaws"][0];
    assert_eq!(
        (&flaw["code"], &flaw["node"], &flaw["workflow"]),
        (&json!("T0008"), &json!("way"), &json!("judge"))
    );
    assert_eq!(
        (&flaw["severity"], &flaw["line"]),
        (&json!("error"), &json!(15))
    );
    let (status, told) = post(
        &routes,
        "/api/check",
        json!({"text": "x", "format": "prose"}),
    )
    .await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::BAD_REQUEST, &json!("bad_request"))
    );
    let (status, told) = post(&routes, "/api/check", json!({"txt": 1})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        told["error"]["message"].as_str().unwrap().contains("txt"),
        "{told}"
    );
}

#[tokio::test]
async fn a_procedure_is_drawn() {
    let routes = api(&engine());
    let text = "```mermaid\nflowchart LR\nSTART[Ask] -->|go on| END([Done])\n```\n";
    let (_, told) = post(
        &routes,
        "/api/check",
        json!({"text": text, "name": "ask.md"}),
    )
    .await;
    assert_eq!(told["procedure"]["nodes"][1]["kind"], "terminal");
    for (kind, has) in [
        ("svg", "<svg"),
        ("mermaid", "flowchart LR"),
        ("dot", "digraph"),
    ] {
        let body = json!({"text": text, "as": kind, "name": "ask.md"});
        let (_, told) = post(&routes, "/api/render", body).await;
        assert!(told["text"].as_str().unwrap().contains(has), "{told}");
    }
}

#[tokio::test]
async fn a_workflow_is_rendered_and_what_has_flaws_is_not() {
    let routes = api(&engine());
    for (kind, has) in [
        ("svg", "<svg"),
        ("mermaid", "flowchart"),
        ("dot", "digraph"),
    ] {
        let body = json!({"text": CHOOSES, "as": kind, "workflow": "judge"});
        let (_, told) = post(&routes, "/api/render", body).await;
        assert!(told["text"].as_str().unwrap().contains(has), "{told}");
    }
    let (status, told) = post(&routes, "/api/render", json!({"text": "{", "as": "svg"})).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("flawed"))
    );
    let body = json!({"text": CHOOSES, "as": "svg", "workflow": "other"});
    assert_eq!(
        post(&routes, "/api/render", body).await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn schemas_are_there_for_what_has_one() {
    let routes = api(&engine());
    for format in ["yaml", "dag", "ir"] {
        let (status, told) = get(&routes, &format!("/api/schemas/{format}")).await;
        assert_eq!(status, StatusCode::OK);
        assert!(told["$schema"].is_string(), "{format}");
    }
    assert_eq!(
        get(&routes, "/api/schemas/sop").await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_workflow_is_listed_run_and_drawn() {
    let engine = engine();
    let routes = api(&engine);
    let (_, told) = get(&routes, "/api/tools").await;
    let tool = &told["tools"][0];
    assert_eq!(
        (&tool["name"], &tool["source"]),
        (&json!("judge"), &json!("document"))
    );
    assert_eq!(tool["input_schema"]["required"], json!(["total"]));
    let run = started(
        &routes,
        "judge",
        json!({"input": {"total": 60}, "session_id": "s1"}),
    )
    .await;
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(
        (&one["status"], &one["kind"]),
        (&json!("completed"), &json!("graph"))
    );
    assert_eq!(
        (&one["outcome"]["result"], &one["session_id"]),
        (&json!("dear"), &json!("s1"))
    );
    assert_eq!(one["input"], json!({"total": 60}));
    let (_, graph) = get(&routes, &format!("/api/runs/{run}/graph")).await;
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 7);
    let (_, runs) = get(&routes, "/api/runs").await;
    assert_eq!(
        (&runs["runs"][0]["run_id"], &runs["runs"][0]["kind"]),
        (&json!(run), &json!("graph"))
    );
    let (_, events) = asked_text(&routes, &format!("/api/runs/{run}/events?after=2")).await;
    assert!(
        events.contains(r#""event":"step_finished","step":2,"node":"price","status":"succeeded""#),
        "{events}"
    );
    assert!(!events.contains("started"), "{events}");
}

#[tokio::test]
async fn what_cannot_be_run_is_told() {
    let routes = api(&engine());
    let (status, told) = post(&routes, "/api/tools/juge/runs", json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("did you mean `judge`?")
    );
    let (status, told) = post(&routes, "/api/tools/judge/runs", json!({"input": {}})).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::BAD_REQUEST, &json!("refused"))
    );
    let (_, about) = get(&routes, "/api/about").await;
    assert_eq!(
        (&about["documents"], &about["writable"]),
        (&json!(false), &json!(false))
    );
}

#[tokio::test]
async fn a_run_belongs_to_the_trace_that_its_request_names() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let engine = engine();
    let routes = api(&engine);
    let began = async |path: &str, body: serde_json::Value, headers: &[(&str, &str)]| {
        let (status, told) = with_headers(&routes, path, body, headers).await;
        assert_eq!(status, StatusCode::CREATED, "{told}");
        let run = told["run_id"].as_str().unwrap().parse().unwrap();
        (
            engine
                .load(&run)
                .await
                .unwrap()
                .run
                .started
                .upstream
                .clone(),
            run,
        )
    };
    let headers = [
        ("traceparent", PARENT),
        ("tracestate", "a=1"),
        ("baggage", "who=me"),
    ];
    let input = json!({"input": {"total": 1}});
    let (upstream, run) = began("/api/tools/judge/runs", input.clone(), &headers).await;
    let upstream = upstream.unwrap();
    assert_eq!(upstream.traceparent(), PARENT);
    assert_eq!(
        (upstream.state.as_deref(), upstream.baggage.as_deref()),
        (Some("a=1"), Some("who=me"))
    );
    rested(&routes, run.as_str()).await;
    // A fork belongs to its requester, not to the owner of the original run.
    let fork = format!("/api/runs/{run}/fork");
    assert!(began(&fork, input.clone(), &[]).await.0.is_none());
    let (upstream, _) = began(&fork, input.clone(), &headers[..1]).await;
    assert_eq!(upstream.unwrap().traceparent(), PARENT);
    for bad in ["nonsense", ""] {
        let headers = [("traceparent", bad), ("tracestate", "a=1")];
        let (upstream, _) = began("/api/tools/judge/runs", input.clone(), &headers).await;
        assert!(upstream.is_none());
    }
}

#[tokio::test]
async fn a_run_can_begin_halted() {
    let routes = api(&engine());
    let body = json!({"input": {"total": 1}, "pause_at_start": true,
        "breakpoints": [{"node": "way", "when": "price = 2"}, {"node": "out", "when": ""}]});
    let run = started(&routes, "judge", body).await;
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(
        (&one["status"], &one["stepping"]),
        (&json!("paused"), &json!(true))
    );
    assert_eq!(
        one["breakpoints"],
        json!([{"node": "way", "when": "price = 2"}, {"node": "out"}])
    );
}

#[tokio::test]
async fn a_pinned_output_is_used_instead_of_running_the_node() {
    let routes = api(&engine());
    let body = json!({"input": {"total": 1}, "breakpoints": [{"node": "price", "output": null}]});
    let run = started(&routes, "judge", body).await;
    rested(&routes, &run).await;
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(
        one["breakpoints"],
        json!([{"node": "price", "output": null}])
    );
    assert_ne!(one["status"], json!("paused"), "{one}");
}

#[tokio::test]
async fn a_graph_is_laid_out_by_the_sizes_of_its_nodes() {
    let routes = api(&engine());
    let node = |id: &str| json!({"id": id, "width": 200, "height": 60});
    let body = json!({"direction": "LR", "nodes": [node("a"), node("b")],
        "edges": [{"id": "e", "from": "a", "to": "b", "label": {"width": 80, "height": 18}}]});
    let (status, told) = post(&routes, "/api/layout", body).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let x = |id: &str| told["nodes"][id]["x"].as_f64().unwrap();
    assert!(x("a") + 200.0 + 80.0 < x("b"), "{told}");
    assert!(
        told["edges"]["e"]["path"]
            .as_str()
            .unwrap()
            .starts_with('M')
    );
    let huge = json!({"nodes": [{"id": "a", "width": 1e9, "height": 1}], "edges": []});
    let (status, told) = post(&routes, "/api/layout", huge).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        told["error"]["message"].as_str().unwrap().contains("`a`"),
        "{told}"
    );
}

#[tokio::test]
async fn a_workflow_of_a_document_has_no_saved_versions() {
    let routes = api(&engine());
    let (status, told) = get(&routes, "/api/tools/judge/versions").await;
    assert_eq!(
        (status, told),
        (StatusCode::OK, json!({"versions": [], "more": false}))
    );
    let (status, _) = get(&routes, "/api/tools/nothing/versions").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn places_of_the_page_are_the_page_and_missing_files_are_missing() {
    let studio = crate::support::page();
    let (status, text) = asked_text(&studio, "/studio/runs/run_1/steps/2").await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        text.contains("<!doctype html>") || text.contains("<!DOCTYPE html>"),
        "{text}"
    );
    assert_eq!(
        asked_text(&studio, "/studio/assets/none-12345678.js")
            .await
            .0,
        StatusCode::NOT_FOUND
    );
}
