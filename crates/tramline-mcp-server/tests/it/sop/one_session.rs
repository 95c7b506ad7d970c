//! One session per caller of a pinned procedure, also if several servers share a store.

use super::super::support::{Client, ERAS, Era, connect, connect_over, over_http};
use super::call_sop;
use super::pinned::{PinnedFixture, dag, move_to};
use rmcp::model::ClientCapabilities;
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use tokio_util::sync::{CancellationToken, DropGuard};
use tramline_mcp_server::{HttpOptions, NamedToken, Server};

/// An HTTP server for two callers.
async fn listen(server: &Server) -> (SocketAddr, DropGuard) {
    let stop = CancellationToken::new();
    let guard = stop.clone().drop_guard();
    let named = |name: &str| NamedToken {
        name: name.into(),
        token: format!("{name}-secret"),
        approver: false,
    };
    let http = HttpOptions {
        named_tokens: vec![named("ann"), named("bob")],
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let listening = server.clone().listen(http, stop).await.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    (address, guard)
}

async fn caller(address: SocketAddr, name: &str, era: Era) -> Client {
    let transport = over_http(address, Some(&format!("{name}-secret")));
    connect_over(transport, era, ClientCapabilities::default()).await
}

/// Moves to the node that may pay. Over HTTP each call names the session.
async fn move_to_pay(client: &Client) -> Json {
    let loaded = call_sop(client, "load_graph", json!({})).await;
    let id = loaded["session_id"].clone();
    let with = |mut arguments: Json| {
        arguments["session_id"] = id.clone();
        arguments
    };
    call_sop(client, "advance", with(json!({}))).await;
    let who = json!({"tool": "identify", "arguments": {}});
    call_sop(client, "sop_call", with(who)).await;
    call_sop(client, "goto_node", with(json!({"node_id": "ROUTE"}))).await;
    let there = call_sop(client, "goto_node", with(json!({"node_id": "PAY"}))).await;
    assert_eq!(there["node"]["id"], "PAY", "{there}");
    id
}

#[tokio::test]
async fn a_named_caller_has_one_session_over_all_servers() {
    for era in ERAS {
        let place = PinnedFixture::default();
        let (_, first) = place.serve().await;
        let (_, second) = place.serve().await;
        let (here, _stop) = listen(&first).await;
        let (there, _stop_too) = listen(&second).await;
        let parked = move_to_pay(&caller(here, "ann", era).await).await;
        // The other server knows the session, and lets a run call at its node.
        let ann = caller(there, "ann", era).await;
        let paid = call_sop(&ann, "execute_dag", dag("t:pay")).await;
        assert_eq!(paid["status"], "complete", "{paid}");
        assert_eq!(place.paid(), 1);
        // Another caller has its own session.
        let bobs = move_to_pay(&caller(here, "bob", era).await).await;
        let begun = call_sop(&ann, "load_graph", json!({})).await;
        let note = begun["note"].as_str().unwrap_or_default();
        assert!(note.contains(parked.as_str().unwrap()), "{begun}");
        for client in [caller(here, "ann", era).await, ann] {
            let pay = json!({"tool": "pay", "arguments": {"sum": 1}, "session_id": parked});
            let refused = client.call("sop_call", pay).await;
            assert_eq!(refused.is_error, Some(true), "{refused:?}");
            let run = call_sop(&client, "execute_dag", dag("t:pay")).await;
            assert!(run.to_string().contains("PAY"), "{run}");
        }
        assert_eq!(place.paid(), 1);
        let pay = json!({"tool": "pay", "arguments": {"sum": 1}, "session_id": bobs});
        let bob = caller(there, "bob", era).await;
        let paid = call_sop(&bob, "sop_call", pay).await;
        assert_eq!(paid["sum"], 1, "{paid}");
    }
}

/// Over stdio the process is the caller: two clients that start a server each do not end each other's sessions.
#[tokio::test]
async fn over_stdio_the_process_is_the_caller() {
    let place = PinnedFixture::default();
    let (_, first) = place.serve().await;
    let (_, second) = place.serve().await;
    let one = connect(&first, Era::Modern).await;
    let other = connect(&second, Era::Modern).await;
    move_to(&one, "PAY").await;
    let begun = call_sop(&other, "load_graph", json!({})).await;
    assert_eq!(begun["note"], Json::Null, "{begun}");
    let paid = call_sop(&one, "execute_dag", dag("t:pay")).await;
    assert_eq!(paid["status"], "complete", "{paid}");
}
