//! Clients that hold connections and send little: each has a time limit, and all of them together a connection
//! limit.

use super::http::listen_as;
use super::support::serving;
use crate::support::SOON;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tramline_mcp_server::{HttpLimits, HttpOptions};

/// Time limits that these tests wait for.
const SHORT: Duration = Duration::from_millis(150);
/// Time limits that must not be reached.
const LONG: Duration = Duration::from_secs(600);

/// Limits that are never reached.
fn patient() -> HttpLimits {
    HttpLimits {
        head: LONG,
        body: LONG,
        idle: LONG,
        write: LONG,
        ..HttpLimits::default()
    }
}

async fn listen(limits: HttpLimits) -> (SocketAddr, DropGuard) {
    let http = HttpOptions {
        limits,
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    listen_as(serving(&[], vec![]), http).await
}

async fn sent(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What is received until the server closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    // A server that closes on bytes it did not read resets the connection.
    let _ = timeout(SOON, read).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn health(address: SocketAddr) -> String {
    format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n")
}

/// The first line of the answer to a health check.
async fn alive(address: SocketAddr) -> String {
    let mut stream = sent(address, &health(address)).await;
    first_line(&mut stream).await
}

async fn first_line(stream: &mut TcpStream) -> String {
    let mut answer = [0; 15];
    let read = stream.read_exact(&mut answer);
    timeout(SOON, read).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_head_is_not_waited_for() {
    let limits = HttpLimits {
        head: SHORT,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for half in [
        "",
        "G",
        "GET /hea",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n",
        preface,
    ] {
        let stream = sent(address, half).await;
        assert!(!until_closed(stream).await.contains("200"), "{half}");
    }
    // The same for a second request on the connection.
    let mut stream = sent(address, &health(address)).await;
    assert_eq!(first_line(&mut stream).await, "HTTP/1.1 200 OK");
    stream.write_all(b"GET /hea").await.unwrap();
    assert!(!until_closed(stream).await.contains("HTTP/1.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_body_is_not_waited_for() {
    let limits = HttpLimits {
        body: SHORT,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    for accept in ["*/*", "application/json, text/event-stream"] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: {accept}\r\nContent-Length: 100\r\n\r\n{{"
        );
        let answer = until_closed(sent(address, &head).await).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_requests_is_closed() {
    let limits = HttpLimits {
        idle: SHORT,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    let answer = until_closed(sent(address, &health(address)).await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_of_an_answer_is_given_up() {
    let limits = HttpLimits {
        write: SHORT,
        connections: 1,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    // More answers than any system buffer holds, none of them read.
    let mut greedy = TcpStream::connect(address).await.unwrap();
    let (_unread, mut asks) = greedy.split();
    let many = health(address).repeat(1_000);
    let asking = async { while asks.write_all(many.as_bytes()).await.is_ok() {} };
    timeout(SOON, asking)
        .await
        .expect("the connection was not closed");
    assert_eq!(alive(address).await, "HTTP/1.1 200 OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_make_room_for_one_that_asks() {
    let most = 8;
    let limits = HttpLimits {
        connections: most,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    let mut kept = sent(address, &health(address)).await;
    assert_eq!(first_line(&mut kept).await, "HTTP/1.1 200 OK");
    let mut silent = Vec::new();
    for at in 0..20 * most {
        let half = if at % 2 == 0 { "" } else { "GET /hea" };
        silent.push(sent(address, half).await);
    }
    for _ in 0..3 {
        assert_eq!(alive(address).await, "HTTP/1.1 200 OK");
    }
    // Connections without any request are closed first.
    kept.write_all(health(address).as_bytes()).await.unwrap();
    let mut rest = Vec::new();
    while !String::from_utf8_lossy(&rest).contains("200 OK") {
        let read = timeout(SOON, kept.read_buf(&mut rest)).await.unwrap();
        assert!(read.unwrap() > 0, "the connection was closed");
    }
    let mut open = 0;
    for mut stream in silent {
        let mut byte = [0];
        let closed = timeout(Duration::from_millis(1), stream.read(&mut byte)).await;
        open += usize::from(closed.is_err());
    }
    assert!(open < most, "{open} are open");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_bodies_make_room_for_one_that_asks() {
    let most = 8;
    let limits = HttpLimits {
        connections: most,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    let half = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{{"
    );
    let mut waiting = Vec::new();
    for _ in 0..2 * most {
        waiting.push(sent(address, &half).await);
    }
    assert_eq!(alive(address).await, "HTTP/1.1 200 OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_under_way_keep_their_room() {
    let limits = HttpLimits {
        connections: 1,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nExpect: 100-continue\r\n\
         Content-Length: 2\r\n\r\n"
    );
    let mut slow = sent(address, &head).await;
    // The server asks for the body: the request is running.
    assert_eq!(first_line(&mut slow).await, "HTTP/1.1 100 Co");
    let other = tokio::spawn(async move { alive(address).await });
    slow.write_all(b"{}").await.unwrap();
    let mut rest = Vec::new();
    while !String::from_utf8_lossy(&rest).contains("HTTP/1.1 400") {
        let read = timeout(SOON, slow.read_buf(&mut rest)).await.unwrap();
        assert!(read.unwrap() > 0, "the connection was closed");
    }
    assert_eq!(other.await.unwrap(), "HTTP/1.1 200 OK");
}

/// Each body is within its own limit; together they would take all memory.
#[tokio::test(flavor = "multi_thread")]
async fn all_bodies_together_have_a_limit() {
    let limits = HttpLimits {
        bodies_bytes: 1 << 20,
        ..patient()
    };
    let (address, _guard) = listen(limits).await;
    let half = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 2000000\r\n\r\n{}",
        " ".repeat(700_000)
    );
    let first = sent(address, &half).await;
    let mut second = sent(address, &half).await;
    let mut third = sent(address, &half).await;
    // The first two may share the room in any order, but not all of them fit.
    let answer = tokio::select! {
        answer = first_line(&mut second) => answer,
        answer = first_line(&mut third) => answer,
    };
    assert_eq!(answer, "HTTP/1.1 503 Se");
    assert_eq!(alive(address).await, "HTTP/1.1 200 OK");
    drop((first, second, third));
}
