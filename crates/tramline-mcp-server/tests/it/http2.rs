//! HTTP/2 clients that are still sending when they are answered, or that do not take their responses. The frames are
//! written by hand: a library would hide what is tested.

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

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// The setting with the initial window of a stream.
const INITIAL_WINDOW: [u8; 2] = [0, 4];
/// A time limit that must not be reached.
const LONG: Duration = Duration::from_secs(600);

struct Http2 {
    stream: TcpStream,
    address: SocketAddr,
}

impl Http2 {
    /// Connects with this initial window for responses.
    async fn connect(address: SocketAddr, window: u32) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut client = Self { stream, address };
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        client.stream.write_all(preface).await.unwrap();
        let settings = [&INITIAL_WINDOW[..], &window.to_be_bytes()].concat();
        client.write(SETTINGS, 0, 0, &settings).await;
        client
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.stream.write_all(&head).await.unwrap();
        self.stream.write_all(payload).await.unwrap();
    }

    /// Writes the head of a request to stream 1. `method` is an index of HPACK's static table.
    async fn request(&mut self, method: u8, path: &str, flags: u8) {
        let authority = self.address.to_string();
        let mut block = vec![0x80 | method, 0x86];
        for (name, value) in [(4, path), (1, authority.as_str())] {
            block.extend([name, u8::try_from(value.len()).unwrap()]);
            block.extend(value.bytes());
        }
        self.write(HEADERS, END_HEADERS | flags, 1, &block).await;
    }

    /// The next frame: kind, flags, payload; `None` once the connection is closed.
    async fn frame(&mut self) -> Option<(u8, u8, Vec<u8>)> {
        let mut head = [0; 9];
        // A connection that is neither used nor closed fails the test.
        let read = timeout(SOON, self.stream.read_exact(&mut head)).await;
        read.unwrap().ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some((head[3], head[4], payload))
    }

    /// The frames until the server has answered a ping, which it does after everything before.
    async fn frames(&mut self) -> Vec<(u8, u8, Vec<u8>)> {
        self.write(PING, 0, 0, &[7; 8]).await;
        let mut seen = Vec::new();
        while let Some(frame) = self.frame().await {
            if frame.0 == PING && frame.1 & ACK != 0 {
                return seen;
            }
            seen.push(frame);
        }
        panic!("the connection was closed");
    }
}

async fn listen(limits: HttpLimits, token: Option<&str>) -> (SocketAddr, DropGuard) {
    let http = HttpOptions {
        limits,
        token: token.map(str::to_owned),
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    listen_as(serving(&[], vec![]), http).await
}

/// The index of `POST` and `GET` in HPACK's static table.
const POST: u8 = 3;
const GET: u8 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let (address, _guard) = listen(HttpLimits::default(), Some("a token of this test")).await;
    for path in ["/mcp", "/nowhere"] {
        let mut client = Http2::connect(address, 65_535).await;
        client.request(POST, path, 0).await;
        let mut seen = Vec::new();
        // The server has seen the head several times before the body is complete.
        for _ in 0..8 {
            client.write(DATA, 0, 1, &[b'x'; 4_096]).await;
            seen.extend(client.frames().await);
        }
        client.write(DATA, END_STREAM, 1, b"x").await;
        let is_end = |(kind, flags, _): &(u8, u8, Vec<u8>)| {
            matches!(*kind, DATA | HEADERS) && flags & END_STREAM != 0
        };
        while !seen.iter().any(is_end) {
            seen.push(client.frame().await.expect("the connection was closed"));
        }
        seen.extend(client.frames().await);
        let kinds: Vec<_> = seen.iter().map(|frame| frame.0).collect();
        assert!(kinds.contains(&HEADERS), "{path}: {kinds:?}");
        assert!(!kinds.contains(&RST_STREAM), "{path}: {kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_grants_no_window_is_given_up() {
    let limits = HttpLimits {
        write: Duration::from_millis(150),
        ..HttpLimits::default()
    };
    let (address, _guard) = listen(limits, None).await;
    let mut client = Http2::connect(address, 0).await;
    client.request(GET, "/healthz", END_STREAM).await;
    while client.frame().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_grants_no_window_makes_room_for_another() {
    let limits = HttpLimits {
        write: LONG,
        idle: LONG,
        connections: 1,
        ..HttpLimits::default()
    };
    let (address, _guard) = listen(limits, None).await;
    let mut client = Http2::connect(address, 0).await;
    client.request(GET, "/healthz", END_STREAM).await;
    while client.frame().await.expect("no response").0 != HEADERS {}
    let mut other = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    other.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 15];
    timeout(SOON, other.read_exact(&mut answer))
        .await
        .expect("no room")
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}
