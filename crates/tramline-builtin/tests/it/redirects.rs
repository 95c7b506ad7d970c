//! `http` and redirects: headers meant for one origin do not reach another.

use crate::{builtin, call};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A server that gives these responses, one for each request, and records the requests.
async fn server(answers: Vec<String>) -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 16_384];
            let length = stream.read(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request[..length]).to_lowercase();
            tell.send(text).unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (port, told)
}

fn to(status: &str, location: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";

fn arguments(port: u16, more: &str) -> String {
    format!(
        r#"{{"url":"http://127.0.0.1:{port}/start","headers":{{"X-Custom":"custom-1","Cookie":"cookie-1","Authorization":"auth-1"}},"api_key":"key-1"{more}}}"#
    )
}

const SECRETS: [&str; 4] = ["custom-1", "cookie-1", "auth-1", "key-1"];

#[tokio::test]
async fn another_origin_gets_no_header_that_was_meant_for_the_first() {
    let dir = tempfile::tempdir().unwrap();
    for status in ["301 x", "302 x", "303 x", "307 x", "308 x"] {
        let (other, mut at_other) = server(vec![OK.into()]).await;
        let answers = vec![to(status, &format!("http://127.0.0.1:{other}/end"))];
        let (port, mut at_first) = server(answers).await;
        let tools = builtin(dir.path(), &["127.0.0.1"]);
        let more = r#","method":"POST","body":{"a":1}"#;
        call(&tools, "http", &arguments(port, more)).await.unwrap();
        let first = at_first.recv().await.unwrap();
        let second = at_other.recv().await.unwrap();
        for secret in SECRETS {
            assert!(first.contains(secret), "{status} {secret}: {first}");
            assert!(!second.contains(secret), "{status} {secret}: {second}");
        }
        assert!(!second.contains("referer"), "{second}");
        // As browsers do: 307 and 308 repeat the request, the others turn to GET.
        let repeats = status.starts_with("307") || status.starts_with("308");
        assert_eq!(second.starts_with("post /end"), repeats, "{second}");
        assert_eq!(second.contains(r#"{"a":1}"#), repeats, "{second}");
        assert_eq!(second.contains("content-type"), repeats, "{second}");
    }
}

#[tokio::test]
async fn the_same_origin_keeps_them_and_a_detour_does_not_bring_them_back() {
    let dir = tempfile::tempdir().unwrap();
    let (port, mut heard) = server(vec![to("302 x", "/next"), OK.into()]).await;
    let tools = builtin(dir.path(), &["127.0.0.1", "localhost"]);
    call(&tools, "http", &arguments(port, "")).await.unwrap();
    heard.recv().await.unwrap();
    let second = heard.recv().await.unwrap();
    assert!(second.starts_with("get /next"), "{second}");
    assert!(
        SECRETS.iter().all(|secret| second.contains(secret)),
        "{second}"
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let reserved = listener.local_addr().unwrap().port();
    drop(listener);
    // Another name for the same machine is another origin.
    let (other, _kept) = server(vec![to(
        "302 x",
        &format!("http://127.0.0.1:{reserved}/back"),
    )])
    .await;
    let listener = TcpListener::bind(("127.0.0.1", reserved)).await.unwrap();
    let first = tokio::spawn(async move {
        let mut heard = Vec::new();
        for answer in [
            to("302 x", &format!("http://localhost:{other}/x")),
            OK.into(),
        ] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 16_384];
            let length = stream.read(&mut request).await.unwrap();
            heard.push(String::from_utf8_lossy(&request[..length]).to_lowercase());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        heard
    });
    call(&tools, "http", &arguments(reserved, ""))
        .await
        .unwrap();
    let heard = first.await.unwrap();
    assert!(SECRETS.iter().all(|secret| heard[0].contains(secret)));
    assert!(
        SECRETS.iter().all(|secret| !heard[1].contains(secret)),
        "{}",
        heard[1]
    );
}

#[tokio::test]
async fn redirections_end() {
    let dir = tempfile::tempdir().unwrap();
    let (port, _heard) = server(vec![to("302 x", "/again"); 10]).await;
    let tools = builtin(dir.path(), &["127.0.0.1"]);
    let failure = call(&tools, "http", &arguments(port, ""))
        .await
        .unwrap_err();
    assert!(failure.message.contains("redirects"), "{failure}");
    assert!(failure.may_have_happened);
}
