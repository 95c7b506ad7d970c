//! Shared by the tests: an engine, and requests to its API.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tower::ServiceExt;
use tramline_catalog::Catalog;
use tramline_engine::ports::{Callable, ToolHints};
use tramline_engine::testing::{FakeCipher, FakeTools, MemoryStore};
use tramline_engine::{
    Admission, DriveOutcome, Engine, EngineOptions, RunOwner, RunStart, Settings, ToolPolicy,
    WorkflowMap,
};
use tramline_expr::Value;
use tramline_formats::{KnownServers, ReadOptions, json_dag, yaml_graph};
use tramline_web::{FurtherAddress, Studio, StudioAccess};
use tramline_workflow::graph::Graph;

/// The API without documents.
pub(crate) fn api(engine: &Engine) -> Router {
    tramline_web::api(engine, &catalog(engine), Studio::default())
}

/// Everything that an engine can call.
pub(crate) fn catalog(engine: &Engine) -> Catalog {
    Catalog::new(
        Arc::clone(engine.store()),
        Arc::clone(engine.tools()),
        Arc::clone(engine.workflows()),
        engine.settings().cloned(),
        None,
    )
}

/// The page.
pub(crate) fn page() -> Router {
    let further = FurtherAddress::Unavailable("ask the operator");
    tramline_web::studio(Arc::new(StudioAccess::new("k", further)))
}

/// A graph that branches on its input.
pub(crate) const CHOOSES: &str = r#"version: "1"
server: {name: s, version: "1"}
tools:
  # What is dear is looked at twice.
  - name: judge
    description: Judges an order.
    inputSchema: {type: object, properties: {total: {type: number}}, required: [total]}
    nodes:
      - {id: in, type: entry, next: price}
      - {id: price, type: transform, transform: {expr: "$.in.total * 2"}, next: way}
      - id: way
        type: switch
        conditions:
          - {rule: {">": [{var: price}, 100]}, target: dear}
          - {rule: {"==": [{var: "$.in.total"}, 7]}, target: lucky}
          - {target: cheap}
      - {id: dear, type: transform, transform: {expr: '"dear"'}, next: out}
      - {id: lucky, type: transform, transform: {expr: '"lucky"'}, next: out}
      - {id: cheap, type: transform, transform: {expr: '"cheap"'}, next: out}
      - {id: out, type: exit}
"#;

/// The graph of [`CHOOSES`].
pub(crate) fn judge() -> Arc<Graph> {
    let document = yaml_graph::read(CHOOSES.as_bytes()).unwrap();
    Arc::clone(&document.workflows[0])
}

/// Two tasks; the second needs approval.
pub(crate) fn graph() -> Arc<Graph> {
    let tasks = json!({"tasks": [
        {"id": "look", "tool": "t:look", "arguments": {}},
        {"id": "act", "tool": "t:look", "arguments": {}, "depends_on": ["look"],
         "approval": "it costs money"},
    ]});
    let hint = ReadOptions {
        name: "order",
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    let document = json_dag::read_value(&Value::from(tasks), hint).unwrap();
    Arc::clone(&document.workflows[0])
}

/// An engine with one tool and one document workflow.
pub(crate) fn engine() -> Engine {
    let hints = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let tools = FakeTools::new().tool("t", "look", hints, |arguments| async move { Ok(arguments) });
    let origin = Value::from(json!({"document": "/somewhere/judge.yaml"}));
    let shelf = WorkflowMap::new([Callable {
        graph: judge(),
        origin,
    }]);
    Engine::with_workflows(
        Arc::new(MemoryStore::new()),
        Arc::new(tools),
        Arc::new(shelf),
        EngineOptions::default(),
    )
}

/// A run that waits for approval, and its question.
pub(crate) async fn waiting(engine: &Engine, owner: Option<&str>) -> (String, String) {
    let mut start = RunStart::new(graph(), Value::from(json!({})));
    start.owner = owner.map(Into::into);
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.to_string();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("it did not pause")
    };
    let point = tramline_workflow::ids::Checkpoint {
        run: run.parse().unwrap(),
        seq: pauses[0].0,
    };
    (run, point.to_string())
}

/// A request of a named caller, and the reply.
pub(crate) async fn asked(
    routes: &Router,
    path: &str,
    body: Option<Json>,
    owner: RunOwner,
) -> (StatusCode, Json) {
    sent(routes, "POST", path, body, owner).await
}

/// A request with a body and another method.
pub(crate) async fn sent(
    routes: &Router,
    method: &str,
    path: &str,
    body: Option<Json>,
    owner: RunOwner,
) -> (StatusCode, Json) {
    let request = Request::builder().uri(path);
    answered(routes, request, (method, path), body, owner).await
}

/// A command with headers.
pub(crate) async fn with_headers(
    routes: &Router,
    path: &str,
    body: Json,
    headers: &[(&str, &str)],
) -> (StatusCode, Json) {
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let owner = RunOwner::default();
    answered(routes, request, ("POST", path), Some(body), owner).await
}

/// A request admitted without a token.
pub(crate) async fn openly(
    routes: &Router,
    method: &str,
    path: &str,
    body: Json,
) -> (StatusCode, Json) {
    let request = Request::builder().uri(path).extension(Admission::Open);
    answered(
        routes,
        request,
        (method, path),
        Some(body),
        RunOwner::default(),
    )
    .await
}

/// Imports a file.
pub(crate) async fn brought(routes: &Router, file: impl Into<Body>) -> (StatusCode, Json) {
    let mut request = Request::post("/api/runs/import")
        .header("host", "127.0.0.1:1")
        .header("content-type", "application/json")
        .body(file.into())
        .unwrap();
    request.extensions_mut().insert(RunOwner::default());
    let response = routes.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// An engine with these tools, one workflow, and settings from the environment.
pub(crate) fn secretive(tools: FakeTools, secrets: &[(&str, &str)], policy: ToolPolicy) -> Engine {
    let kept = Arc::new(MemoryStore::new());
    let named = |(key, secret): &(&str, &str)| {
        let variable = tramline_engine::settings::VARIABLE_PREFIX;
        (format!("{variable}{key}"), (*secret).to_owned())
    };
    let secrets = secrets.iter().map(named);
    let settings = Settings::new(Arc::clone(&kept) as _, Arc::new(FakeCipher(3)), secrets);
    let options = EngineOptions {
        settings: Some(settings.unwrap()),
        policy,
        ..EngineOptions::default()
    };
    let shelf = WorkflowMap::new([Callable {
        graph: judge(),
        origin: Value::Null,
    }]);
    Engine::with_workflows(kept, Arc::new(tools), Arc::new(shelf), options)
}

async fn answered(
    routes: &Router,
    request: axum::http::request::Builder,
    (method, path): (&str, &str),
    body: Option<Json>,
    owner: RunOwner,
) -> (StatusCode, Json) {
    let mut request = request.header("host", "127.0.0.1:1");
    let has_body = body.is_some();
    if has_body {
        request = request
            .method(method)
            .header("content-type", "application/json");
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let mut request = request.body(body).unwrap();
    request.extensions_mut().insert(owner);
    request.extensions_mut().get_or_insert(Admission::Token);
    let response = routes.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let reply = serde_json::from_slice(&bytes).unwrap_or_default();
    let method = if has_body { method } else { "GET" };
    super::contract::hold(method, path, status, &reply);
    (status, reply)
}

/// A request without an owner.
pub(crate) async fn get(routes: &Router, path: &str) -> (StatusCode, Json) {
    asked(routes, path, None, RunOwner::default()).await
}

/// The reply as text.
pub(crate) async fn asked_text(routes: &Router, path: &str) -> (StatusCode, String) {
    let request = Request::builder().uri(path).header("host", "localhost");
    let response = routes
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

/// A command without an owner.
pub(crate) async fn post(routes: &Router, path: &str, body: Json) -> (StatusCode, Json) {
    asked(routes, path, Some(body), RunOwner::default()).await
}

/// A run of a workflow, followed until it waits or ends.
pub(crate) async fn started(routes: &Router, name: &str, body: Json) -> String {
    let (status, told) = post(routes, &format!("/api/tools/{name}/runs"), body).await;
    assert_eq!(status, StatusCode::CREATED, "{told}");
    let run = told["run_id"].as_str().unwrap().to_owned();
    rested(routes, &run).await;
    run
}

/// Waits until a run has no driver.
pub(crate) async fn rested(routes: &Router, run: &str) -> Json {
    loop {
        let (_, one) = get(routes, &format!("/api/runs/{run}")).await;
        if one["status"] != "running" {
            return one;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
