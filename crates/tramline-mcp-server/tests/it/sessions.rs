//! Sessions of older clients: limited, and usable only by the caller that opened them.

use super::http::listen_as;
use super::support::serving;
use crate::support::SOON;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::DropGuard;
use tramline_mcp_server::{HttpLimits, HttpOptions, NamedToken};

async fn listen(limits: HttpLimits) -> (SocketAddr, DropGuard) {
    let named = |name: &str| NamedToken {
        name: name.into(),
        token: format!("{name}-secret"),
        approver: false,
    };
    let http = HttpOptions {
        token: Some("own-secret".into()),
        named_tokens: vec![named("ann"), named("bob")],
        limits,
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    listen_as(serving(&[], vec![]), http).await
}

/// A request of an older client. Returns the answer up to at least the end of its head.
async fn asked(
    address: SocketAddr,
    method: &str,
    (caller, session): (&str, Option<&str>),
    body: &str,
) -> String {
    let session = session.map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
    let request = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {caller}-secret\r\n{session}\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&answer).contains("\r\n\r\n") {
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
        }
    };
    tokio::time::timeout(SOON, reading).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Opens a session.
async fn opened(address: SocketAddr, caller: &str) -> String {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
        "capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let answer = asked(address, "POST", (caller, None), hello).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let id = answer.split("mcp-session-id: ").nth(1).unwrap();
    let id = id.split("\r\n").next().unwrap().to_owned();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = asked(address, "POST", (caller, Some(&id)), ready).await;
    assert_eq!(status(&answer), 202, "{answer}");
    id
}

/// The status that a caller gets for using a session: 200 if it is its own.
async fn used(address: SocketAddr, caller: &str, session: &str) -> u16 {
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    status(&asked(address, "POST", (caller, Some(session)), ping).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_there_for_its_caller_alone() {
    let (address, _guard) = listen(HttpLimits::default()).await;
    let session = opened(address, "ann").await;
    let reply =
        r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"decision":"approve"}}}"#;
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for other in ["bob", "own"] {
        assert_eq!(used(address, other, &session).await, 404, "{other}");
        for (method, body) in [
            ("GET", ""),
            ("POST", reply),
            ("POST", notice),
            ("DELETE", ""),
        ] {
            let answer = asked(address, method, (other, Some(&session)), body).await;
            assert_eq!(status(&answer), 404, "{other} {method} {body}: {answer}");
        }
    }
    assert_eq!(used(address, "ann", &session).await, 200);
    let stream = asked(address, "GET", ("ann", Some(&session)), "").await;
    assert_eq!(status(&stream), 200, "{stream}");
    let ended = asked(address, "DELETE", ("ann", Some(&session)), "").await;
    assert_eq!(status(&ended), 202, "{ended}");
    assert_eq!(used(address, "ann", &session).await, 404);
    let again = asked(address, "DELETE", ("ann", Some(&session)), "").await;
    assert_eq!(status(&again), 404, "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_idle_session_goes_for_a_new_one() {
    let limits = HttpLimits {
        sessions: 3,
        sessions_per_caller: 2,
        ..HttpLimits::default()
    };
    let (address, _guard) = listen(limits).await;
    let first = opened(address, "ann").await;
    let second = opened(address, "ann").await;
    assert_eq!(used(address, "ann", &first).await, 200);
    let third = opened(address, "ann").await;
    // Her own least recently used session was closed.
    assert_eq!(used(address, "ann", &second).await, 404);
    assert_eq!(used(address, "ann", &first).await, 200);
    assert_eq!(used(address, "ann", &third).await, 200);
    let bobs = opened(address, "bob").await;
    let own = opened(address, "own").await;
    assert_eq!(used(address, "ann", &first).await, 404);
    for (caller, session) in [("ann", &third), ("bob", &bobs), ("own", &own)] {
        assert_eq!(used(address, caller, session).await, 200, "{caller}");
    }
}
