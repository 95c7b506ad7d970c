//! HTTP servers whose answers never end: reading stops at the limit.

use crate::support::{SOON, call, json, options, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_mcp_client::config::read;
use tramline_mcp_client::{ClientOptions, Servers};
use tramline_workflow::failure::Failure;

/// Limit on an answer here, in bytes.
const MAX: usize = 1 << 20;
/// Bytes that both ends and the system in between may buffer.
const IN_FLIGHT: usize = 16 << 20;
const PART: usize = 64 << 10;

/// How an endless answer to a call looks.
#[derive(Clone, Copy)]
struct EndlessAnswer {
    status: &'static str,
    kind: &'static str,
    begins: &'static str,
}

/// A server whose tool answers endlessly. Returns its address and counts the bytes it could send.
async fn server(endless: EndlessAnswer) -> (String, Arc<AtomicUsize>, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let sent = Arc::new(AtomicUsize::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let (counter, ended) = (Arc::clone(&sent), Arc::clone(&over));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (counter, ended) = (Arc::clone(&counter), Arc::clone(&ended));
            tokio::spawn(async move {
                if answer(stream, endless, &counter).await.is_some() {
                    ended.store(true, Ordering::SeqCst);
                }
            });
        }
    });
    (address, sent, over)
}

pub(crate) async fn request(stream: &mut BufReader<TcpStream>) -> Option<(bool, Value)> {
    let (mut length, mut line) = (0, String::new());
    stream.read_line(&mut line).await.ok()?;
    let is_post = line.starts_with("POST");
    while line.trim() != "" {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).ok()?;
    Some((is_post, Value::from_json(&body).unwrap_or_default()))
}

/// Answers a request; `Some` if it was the endless answer and has ended.
async fn answer(stream: TcpStream, endless: EndlessAnswer, sent: &AtomicUsize) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (is_post, message) = request(&mut stream).await?;
    let id = message.get("id").cloned().unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str);
    let result = match method {
        Some("initialize") => {
            r#""result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"endless","version":"1"}}"#
        }
        Some("tools/list") => {
            r#""result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#
        }
        Some("tools/call") => {
            send_endlessly(&mut stream, endless, sent).await;
            return Some(());
        }
        _ if !is_post => {
            let head = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(head.as_bytes()).await.ok()?;
            return None;
        }
        _ if id.is_null() => {
            let head = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(head.as_bytes()).await.ok()?;
            return None;
        }
        _ => r#""error":{"code":-32601,"message":"unknown method"}"#,
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).await.ok()?;
    None
}

async fn send_endlessly(
    stream: &mut BufReader<TcpStream>,
    endless: EndlessAnswer,
    sent: &AtomicUsize,
) {
    let EndlessAnswer {
        status,
        kind,
        begins,
    } = endless;
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{begins}");
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let part = vec![b' '; PART];
    while stream.write_all(&part).await.is_ok() {
        sent.fetch_add(PART, Ordering::SeqCst);
    }
}

async fn called(endless: EndlessAnswer) -> (Failure, usize) {
    let (address, sent, over) = server(endless).await;
    let text = format!(r#"{{"mcpServers": {{"u": {{"type": "http", "url": "{address}"}}}}}}"#);
    let options = ClientOptions {
        answer_bytes_max: MAX,
        ..options()
    };
    let servers = Arc::new(Servers::new(read(&json(&text)).unwrap(), options));
    let call = servers.call(call("t", "{}"));
    let failure = tokio::time::timeout(SOON / 2, call).await;
    let failure = failure.unwrap().unwrap_err();
    // The connection is closed, so the server cannot send any more.
    until("the end of the connection", || over.load(Ordering::SeqCst)).await;
    (failure, sent.load(Ordering::SeqCst))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kind_of_answer_is_read_beyond_its_limit() {
    let kinds = [
        ("200 OK", "application/json", "{"),
        ("200 OK", "text/event-stream", "data: "),
        ("200 OK", "text/html", "<p>"),
        ("500 Internal Server Error", "application/json", "{"),
        ("500 Internal Server Error", "text/plain", "no"),
        ("400 Bad Request", "text/plain", "no"),
        ("400 Bad Request", "application/json", "{"),
        ("403 Forbidden", "application/json", "{"),
    ];
    for (status, kind, begins) in kinds {
        let (failure, sent) = called(EndlessAnswer {
            status,
            kind,
            begins,
        })
        .await;
        assert!(sent <= MAX + IN_FLIGHT, "{status} {kind}: {sent} bytes");
        assert!(!failure.message.is_empty());
        if status == "200 OK" && kind == "application/json" {
            assert!(failure.message.contains("exceeds"), "{failure}");
        }
    }
}
