//! Any bytes as what a client sends to a server over HTTP: it is answered as HTTP or hung up on, and a
//! health check after it is answered.

use super::serving;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tramline_mcp::server::{Beside, Http};

/// How long a client that has said everything waits for an answer to half a request.
const WAIT: Duration = Duration::from_millis(200);
/// How long a health check takes at most.
const HEALTH_MAX: Duration = Duration::from_secs(10);

/// One server for all inputs, on a thread of the runtime.
static SERVED: OnceLock<Option<(Runtime, SocketAddr)>> = OnceLock::new();

pub(crate) fn check(bytes: &[u8]) {
    let Some((runtime, address)) = SERVED.get_or_init(serve) else {
        panic!("no server can be made");
    };
    runtime.block_on(async {
        let answer = send(*address, bytes, WAIT).await;
        // An answer of HTTP/2 begins with a frame of settings.
        let is_http =
            answer.is_empty() || answer.starts_with(b"HTTP/1.") || answer.get(3) == Some(&4);
        assert!(is_http, "{:?}", String::from_utf8_lossy(&answer));
        assert!(
            !answer.starts_with(b"HTTP/1.1 500"),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
        let health =
            format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        let answer = send(*address, health.as_bytes(), HEALTH_MAX).await;
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
    });
}

fn serve() -> Option<(Runtime, SocketAddr)> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().ok()?;
    let server = serving::server()?;
    let http = Http::at(([127, 0, 0, 1], 0).into());
    let stop = CancellationToken::new();
    let listening = runtime
        .block_on(server.listen_beside(http, Beside::default(), stop))
        .ok()?;
    let address = listening.address;
    runtime.spawn(listening.serve());
    Some((runtime, address))
}

async fn send(address: SocketAddr, bytes: &[u8], wait: Duration) -> Vec<u8> {
    let mut answer = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return answer;
    };
    let talking = async {
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut answer).await;
    };
    let _ = tokio::time::timeout(wait, talking).await;
    answer
}
