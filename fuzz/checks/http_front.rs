//! Arbitrary bytes from an HTTP client: the server answers with HTTP or disconnects, and answers a
//! health check afterwards.

use super::serving;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tramline_mcp_server::{ExtraRoutes, HttpOptions};

/// How long a client that has sent everything waits for an answer to half a request.
const WAIT: Duration = Duration::from_millis(200);
/// The longest that a health check may take.
const HEALTH_MAX: Duration = Duration::from_secs(10);

/// One server for all inputs, on a runtime thread.
static SERVED: OnceLock<Option<(Runtime, SocketAddr)>> = OnceLock::new();

pub(crate) fn check(bytes: &[u8]) {
    let Some((runtime, address)) = SERVED.get_or_init(serve) else {
        panic!("the server cannot be started");
    };
    runtime.block_on(async {
        let answer = send(*address, bytes, WAIT).await;
        // An HTTP/2 answer starts with a SETTINGS frame.
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
    let http = HttpOptions::at(([127, 0, 0, 1], 0).into());
    let stop = CancellationToken::new();
    let listening = runtime
        .block_on(server.listen_with_routes(http, ExtraRoutes::default(), stop))
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
        // A client that closes its side has left, and may get no answer.
        if wait < HEALTH_MAX {
            let _ = stream.shutdown().await;
        }
        let _ = stream.read_to_end(&mut answer).await;
    };
    let _ = tokio::time::timeout(wait, talking).await;
    answer
}
