//! Many clients with both handshakes at one address.

use super::support::{
    ERAS, Era, approving, calling, connect_over, forms, over, over_http, services, serving,
    structured, tools,
};
use futures_util::future::join_all;
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use tramline_engine::testing::MemoryStore;
use tramline_mcp_server::{ExtraRoutes, HttpFault, HttpOptions, NamedToken, Server, Toolset};
use tramline_workflow::ids::RunId;

/// Serves until the guard is dropped.
pub(super) async fn listen(
    server: Server,
    token: Option<&str>,
) -> (SocketAddr, tokio_util::sync::DropGuard) {
    let http = HttpOptions {
        token: token.map(str::to_owned),
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    listen_as(server, http).await
}

/// Serves with these settings until the guard is dropped.
pub(super) async fn listen_as(
    server: Server,
    http: HttpOptions,
) -> (SocketAddr, tokio_util::sync::DropGuard) {
    let stop = CancellationToken::new();
    let listening = server.listen(http, stop.clone()).await.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    (address, stop.drop_guard())
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_both_eras_are_served_side_by_side() {
    let graphs = vec![calling("reads", "look", ""), approving("acts")];
    let (address, _guard) = listen(serving(&[Toolset::Graphs], graphs), None).await;
    let talk = |at: usize, era: Era| async move {
        let client = connect_over(over_http(address, None), era, forms()).await;
        for round in 0..3 {
            let read = client
                .call("reads", json!({"at": at, "round": round}))
                .await;
            assert_eq!(
                structured(&read),
                &json!({"at": at, "round": round}),
                "{era:?}"
            );
        }
        client.queue_answer(super::support::filled(json!({"decision": "approve"})));
        let acted = client.call("acts", json!({"at": at})).await;
        assert_eq!(structured(&acted), &json!({"at": at}), "{era:?}");
    };
    let clients = (0..8).map(|at| talk(at, ERAS[at % 2]));
    join_all(clients).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_reach_clients_over_http() {
    for era in ERAS {
        let graphs = vec![calling("reads", "look", "")];
        let server = serving(&[Toolset::Graphs], graphs);
        let (address, _guard) = listen(server.clone(), None).await;
        let mut client = connect_over(over_http(address, None), era, forms()).await;
        assert_eq!(client.names().await, ["reads"]);
        let newer = (calling("newer", "look", ""), tramline_expr::Value::Null);
        server.replace_graphs(server.prepare(Default::default(), [newer]).unwrap());
        client.wait_tools_changed().await;
        assert_eq!(client.names().await, ["newer"], "{era:?}");
    }
}

/// The first line of the answer to a bare request.
async fn status(address: SocketAddr, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn health_needs_no_token_and_all_else_does() {
    let (address, _guard) = listen(serving(&[], vec![]), Some("secret")).await;
    assert!(status(address, "/healthz").await.contains("200"));
    assert!(status(address, "/mcp").await.contains("401"));
    assert!(!status(address, "/").await.contains("200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_token_is_none_and_a_short_one_stays_on_this_machine() {
    let listened = async |address: &str, token: &str| {
        let http = HttpOptions {
            token: Some(token.to_owned()),
            ..HttpOptions::at(address.parse().unwrap())
        };
        let stop = CancellationToken::new();
        serving(&[], vec![]).listen(http, stop).await.map(drop)
    };
    for blank in ["", " ", "\t \n"] {
        let refused = listened("0.0.0.0:0", blank).await;
        assert!(
            matches!(refused, Err(HttpFault::TokenRequired(_))),
            "{blank:?}"
        );
        assert!(listened("127.0.0.1:0", blank).await.is_ok(), "{blank:?}");
    }
    let refused = listened("0.0.0.0:0", "fifteen bytes !").await;
    assert!(matches!(refused, Err(HttpFault::TokenTooShort { .. })));
    assert!(listened("0.0.0.0:0", "sixteen bytes !!").await.is_ok());
    assert!(listened("127.0.0.1:0", "short").await.is_ok());
    let refused = listened("127.0.0.1:0", "gr\u{fc}n").await;
    assert!(matches!(refused, Err(HttpFault::InvalidToken(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_token_is_as_long_as_the_other() {
    let named = |token: &str| NamedToken {
        name: "ann".into(),
        token: token.to_owned(),
        approver: false,
    };
    let http = |address: &str, token: &str| HttpOptions {
        named_tokens: vec![named(token)],
        ..HttpOptions::at(address.parse().unwrap())
    };
    let listened = async |http| {
        let stop = CancellationToken::new();
        serving(&[], vec![]).listen(http, stop).await.map(drop)
    };
    let short = listened(http("0.0.0.0:0", "short")).await;
    assert!(matches!(short, Err(HttpFault::TokenTooShort { .. })));
    let blank = listened(http("127.0.0.1:0", " ")).await;
    assert!(matches!(blank, Err(HttpFault::InvalidToken(_))));
}

/// Somebody without a token tries to answer: nothing happens, and the audit says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_a_token_is_in_the_audit() {
    let services = services(MemoryStore::default(), tools());
    let server = over(services.clone(), &[Toolset::Control], Vec::new());
    let answer = axum::routing::post(async || "answered");
    let beside = ExtraRoutes {
        guarded: axum::Router::new().route("/api/approvals/{point}", answer),
        command: Some(|_| Some(("answer".to_owned(), Some(RunId::new(1, 2))))),
        ..ExtraRoutes::default()
    };
    let http = HttpOptions {
        token: Some("secret".to_owned()),
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let stop = CancellationToken::new();
    let listening = server.listen_with_routes(http, beside, stop.clone()).await;
    let listening = listening.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    let _guard = stop.drop_guard();
    for path in ["/api/approvals/x", "/mcp", "/api/approvals/x"] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    }
    let notes = services.engine.audit_notes(0, None).await.unwrap();
    let told: Vec<_> = notes
        .iter()
        .map(|it| (it["door"].as_str(), it["command"].as_str(), &it["times"]))
        .collect();
    let wanted = [
        (Some("http"), Some("answer"), &json!(2)),
        (Some("mcp"), Some("request"), &json!(null)),
    ];
    assert_eq!(told, wanted, "{notes:?}");
    assert_eq!(notes[0]["run_id"], RunId::new(1, 2).as_str());
    for note in &notes {
        assert_eq!(note["result"], "refused");
        let why = note["error"].as_str().unwrap();
        assert!(why.starts_with("token_needed"), "{note}");
    }
}
