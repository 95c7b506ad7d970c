//! HTTP servers that answer calls with an error status: some blame the call, others the server.

use crate::endless::request;
use crate::support::{call, json, options};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_mcp_client::Servers;
use tramline_mcp_client::config::read;
use tramline_workflow::failure::FailureKind;

/// A server whose tool answers with the head that the call names. Counts the handshakes.
async fn server(handshakes: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let handshakes = Arc::clone(&handshakes);
            tokio::spawn(async move { answer(stream, &handshakes).await });
        }
    });
    address
}

async fn answer(stream: TcpStream, handshakes: &AtomicUsize) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (is_post, message) = request(&mut stream).await?;
    let id = message.get("id").cloned().unwrap_or_default();
    let arguments = message.get("params").and_then(|call| call.get("arguments"));
    let head = arguments.and_then(|all| all.get("head")?.as_str());
    let result = match message.get("method").and_then(Value::as_str) {
        Some("initialize") => {
            handshakes.fetch_add(1, Ordering::SeqCst);
            r#""result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#
        }
        Some("tools/list") => {
            r#""result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#
        }
        Some("tools/call") => r#""result":{"content":[{"type":"text","text":"done"}]}"#,
        _ if !is_post || id.is_null() => "",
        _ => r#""error":{"code":-32601,"message":"unknown method"}"#,
    };
    let (head, body) = match (head, result) {
        (Some(head), _) => (head, "it is wrong".to_owned()),
        (None, "") if is_post => ("202 Accepted", String::new()),
        (None, "") => ("405 Method Not Allowed", String::new()),
        (None, result) => {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#);
            ("200 OK\r\ncontent-type: application/json", body)
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_call_does_not_count_as_a_crash() {
    let handshakes = Arc::new(AtomicUsize::new(0));
    let address = server(Arc::clone(&handshakes)).await;
    let text = format!(r#"{{"mcpServers": {{"u": {{"type": "http", "url": "{address}"}}}}}}"#);
    let servers = Arc::new(Servers::new(read(&json(&text)).unwrap(), options()));
    let works = || async {
        let done = servers.call(call("t", "{}")).await.unwrap();
        assert_eq!(done, Value::from("done"));
    };
    works().await;
    let rejected = [
        ("400 Bad Request", FailureKind::Tool),
        ("403 Forbidden", FailureKind::Tool),
        ("413 Payload Too Large", FailureKind::Tool),
        ("422 Unprocessable Content", FailureKind::Tool),
        ("429 Too Many Requests", FailureKind::Unavailable),
        (
            r"401 Unauthorized\r\nwww-authenticate: Bearer",
            FailureKind::Unavailable,
        ),
    ];
    for (head, kind) in rejected {
        let arguments = format!(r#"{{"head": "{head}"}}"#);
        let failure = servers.call(call("t", &arguments)).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{head}: {failure}");
        if kind == FailureKind::Tool {
            assert!(failure.message.contains(&head[..3]), "{head}: {failure}");
            assert!(failure.message.contains("it is wrong"), "{head}: {failure}");
        }
        works().await;
        let begun = handshakes.load(Ordering::SeqCst);
        assert_eq!(begun, 1, "{head}: the server was given up");
    }
}
