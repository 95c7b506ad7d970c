//! Two servers over one store behind a proxy that sends every request to the other one: clients of both handshakes see
//! one server.

use super::support::{ERAS, calling, connect_over, forms, over_http, structured};
use super::support::{filled, pure, services};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use rmcp::model::ClientCapabilities;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::{CancellationToken, DropGuard};
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_mcp_server::{HttpOptions, NamedToken, Server, ServerDescription, Toolset};

/// Servers behind a proxy, and how many requests each got.
struct BalancedServers {
    address: SocketAddr,
    requests: Arc<[AtomicUsize; 2]>,
    _guard: DropGuard,
}

#[derive(Clone)]
struct Backends {
    addresses: [SocketAddr; 2],
    turn: Arc<AtomicUsize>,
    requests: Arc<[AtomicUsize; 2]>,
    http: reqwest::Client,
}

async fn forward(State(backends): State<Backends>, request: Request) -> Response {
    let at = backends.turn.fetch_add(1, Ordering::SeqCst) % 2;
    backends.requests[at].fetch_add(1, Ordering::SeqCst);
    let (parts, body) = request.into_parts();
    let address = backends.addresses[at];
    let url = format!("http://{address}{}", parts.uri.path());
    let mut headers = parts.headers;
    headers.insert("host", address.to_string().parse().unwrap());
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let sent = backends
        .http
        .request(parts.method, url)
        .headers(headers)
        .body(body);
    let answer = sent.send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    *response.headers_mut().unwrap() = answer.headers().clone();
    response.body(body_of(answer)).unwrap()
}

/// The body as it arrives: an event stream stays open.
fn body_of(answer: reqwest::Response) -> Body {
    Body::from_stream(futures_util::stream::unfold(answer, |mut answer| async {
        let chunk = answer.chunk().await.transpose()?;
        Some((chunk, answer))
    }))
}

impl BalancedServers {
    async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = MemoryStore::default();
        let stop = CancellationToken::new();
        let mut addresses = Vec::new();
        for _ in 0..2 {
            let named = |name: &str| NamedToken {
                name: name.into(),
                token: format!("{name}-secret"),
                approver: false,
            };
            let http = HttpOptions {
                named_tokens: vec![named("ann"), named("bob")],
                ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
            };
            let echo = |given: Value| async move { Ok(given) };
            let tools = FakeTools::new().tool("t", "work", ToolHints::default(), echo);
            let graphs = [pure("one"), calling("act", "work", ", approval: it acts")];
            let graphs = graphs.map(|graph| (graph, Value::Null));
            let about = ServerDescription::default();
            let toolsets = &[Toolset::Graphs, Toolset::Runs];
            let server =
                Server::new(services(store.clone(), tools), about, toolsets, graphs).unwrap();
            let listening = server.listen(http, stop.clone()).await.unwrap();
            addresses.push(listening.address);
            tokio::spawn(listening.serve());
        }
        let requests: Arc<[AtomicUsize; 2]> = Arc::default();
        let backends = Backends {
            addresses: [addresses[0], addresses[1]],
            turn: Arc::default(),
            requests: Arc::clone(&requests),
            http: reqwest::Client::new(),
        };
        let proxy = Router::new().fallback(forward).with_state(backends);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, proxy).await });
        Self {
            address,
            requests,
            _guard: stop.drop_guard(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_both_handshakes_see_one_server() {
    for era in ERAS {
        let servers = BalancedServers::start().await;
        let transport = over_http(servers.address, Some("ann-secret"));
        let client = connect_over(transport, era, ClientCapabilities::default()).await;
        for number in 0..6 {
            assert!(client.names().await.contains(&"one".to_owned()), "{era:?}");
            let given = json!({ "n": number });
            assert_eq!(structured(&client.call("one", given.clone()).await), &given);
        }
        let asked = json!({"workflow": "act", "arguments": {"a": 1}, "key": "k"});
        let started = client.call("run_start", asked.clone()).await;
        let run = structured(&started)["run_id"].clone();
        assert_eq!(
            structured(&client.call("run_start", asked).await)["run_id"],
            run
        );
        let paused = client.call("run_await", json!({"run_id": run})).await;
        let point = structured(&paused)["waiting"][0]["checkpoint_id"].clone();
        client
            .call(
                "run_answer",
                json!({"checkpoint_id": point, "answer": "approve"}),
            )
            .await;
        let ended = client
            .call("run_await", json!({"run_id": run, "wait_seconds": 55}))
            .await;
        assert_eq!(
            structured(&ended)["status"],
            "completed",
            "{era:?}: {ended:?}"
        );
        let uri = structured(&started)["resource"].as_str().unwrap();
        let read = rmcp::model::ReadResourceRequestParams::new(uri);
        client.service.peer().read_resource(read).await.unwrap();
        // Both have served it.
        for count in servers.requests.iter() {
            assert!(count.load(Ordering::SeqCst) > 5, "{era:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_through_the_other_server() {
    let servers = BalancedServers::start().await;
    let transport = over_http(servers.address, Some("ann-secret"));
    let client = connect_over(transport, super::support::Era::Modern, forms()).await;
    client.queue_answer(filled(json!({"decision": "approve"})));
    let result = client.call("act", json!({"a": 1})).await;
    assert_eq!(structured(&result), &json!({"a": 1}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_stays_with_its_caller_on_every_server() {
    let servers = BalancedServers::start().await;
    let http = reqwest::Client::new();
    let send = |token: &str, session: Option<&str>, body: serde_json::Value| {
        let mut request = http
            .post(format!("http://{}/mcp", servers.address))
            .bearer_auth(format!("{token}-secret"))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(body.to_string());
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        request.send()
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = send("ann", None, hello).await.unwrap();
    let session = opened.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let ping = || json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for _ in 0..4 {
        assert_eq!(
            send("bob", Some(&session), ping()).await.unwrap().status(),
            404
        );
        assert_eq!(
            send("bob", Some("unknown"), ping()).await.unwrap().status(),
            404
        );
    }
    for _ in 0..4 {
        assert_eq!(
            send("ann", Some(&session), ping()).await.unwrap().status(),
            200
        );
    }
}
