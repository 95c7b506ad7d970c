//! A server stops whatever connections are open.

use super::support::serving;
use crate::support::SOON;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tramline_mcp_server::{ExtraRoutes, HttpLimits, HttpOptions};

/// A stream of events that never ends by itself.
async fn endless() -> axum::response::Response {
    let stream = futures_util::stream::unfold((), |()| async {
        std::future::pending::<()>().await;
        Some((Ok::<_, std::convert::Infallible>("never"), ()))
    });
    let first = futures_util::stream::iter([Ok("data: begun\n\n")]);
    let all = futures_util::StreamExt::chain(first, stream);
    let kind = [("content-type", "text/event-stream")];
    axum::response::IntoResponse::into_response((kind, axum::body::Body::from_stream(all)))
}

/// A request that is never answered.
async fn silence() -> &'static str {
    std::future::pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_whatever_is_open() {
    let routes = axum::Router::new()
        .route("/events", axum::routing::get(endless))
        .route("/silence", axum::routing::get(silence));
    let beside = ExtraRoutes {
        guarded: routes,
        ..ExtraRoutes::default()
    };
    let http = HttpOptions {
        limits: HttpLimits {
            drain: Duration::from_millis(100),
            ..HttpLimits::default()
        },
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let stop = CancellationToken::new();
    let server = serving(&[], vec![]);
    let listening = server.listen_with_routes(http, beside, stop.clone()).await;
    let listening = listening.unwrap();
    let address = listening.address;
    let served = tokio::spawn(listening.serve());
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let half = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 9\r\n\r\n{{"
    );
    let mut open = Vec::new();
    for text in ["", "GET /hea", &half, &get("/silence"), &get("/healthz")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        open.push(stream);
    }
    let mut events = TcpStream::connect(address).await.unwrap();
    events.write_all(get("/events").as_bytes()).await.unwrap();
    let mut told = Vec::new();
    while !String::from_utf8_lossy(&told).contains("begun") {
        assert!(events.read_buf(&mut told).await.unwrap() > 0);
    }
    stop.cancel();
    timeout(SOON, served)
        .await
        .expect("the server did not stop")
        .unwrap()
        .unwrap();
    // The stream ended properly for its reader.
    timeout(SOON, events.read_to_end(&mut told))
        .await
        .unwrap()
        .unwrap();
    assert!(String::from_utf8_lossy(&told).ends_with("0\r\n\r\n"));
    assert!(TcpStream::connect(address).await.is_err());
}
