//! The built-in tools as a graph calls them: what they return, and what they reject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail loudly"
)]

mod cuts;
mod llm;
mod preview;
mod protected;
mod redirects;
mod relocate;
mod shell;
mod special;

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use tramline_builtin::{Builtin, BuiltinAccess, SERVER};
use tramline_engine::ports::{ToolCallRequest, Tools};
use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

pub(crate) fn builtin(root: &Path, hosts: &[&str]) -> Builtin {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    Builtin::new(BuiltinAccess {
        roots: vec![root.to_owned()],
        hosts,
        ..BuiltinAccess::default()
    })
    .unwrap()
}

pub(crate) async fn call(tools: &Builtin, tool: &str, arguments: &str) -> Result<Value, Failure> {
    tools
        .call(ToolCallRequest {
            tool: ToolName::new(SERVER, tool),
            arguments: Value::from_json(arguments).unwrap(),
            key: "k".into(),
            timeout: Duration::from_secs(5),
            cancel: CancellationToken::new(),
            progress: None,
            upstream: None,
        })
        .await
}

#[tokio::test]
async fn files_are_written_read_and_listed() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    let wrote = call(
        &tools,
        "write-file",
        r#"{"path":"a/b.txt","content":"hé","create_dirs":true}"#,
    );
    assert_eq!(
        wrote.await.unwrap().to_json(),
        r#"{"path":"a/b.txt","bytes":3}"#
    );
    let read = call(&tools, "read-file", r#"{"path":"a/b.txt"}"#)
        .await
        .unwrap();
    assert_eq!(
        read.to_json(),
        r#"{"path":"a/b.txt","content":"hé","encoding":"utf-8","bytes":3}"#
    );
    let listed = call(&tools, "list-directory", r#"{"path":"a"}"#)
        .await
        .unwrap();
    assert_eq!(
        listed.to_json(),
        r#"{"path":"a","entries":[{"name":"b.txt","kind":"file","size":3}]}"#
    );
    let listed = call(&tools, "list-directory", r#"{"path":"."}"#)
        .await
        .unwrap();
    assert_eq!(
        listed
            .get("entries")
            .unwrap()
            .at(0)
            .unwrap()
            .get("kind")
            .unwrap(),
        &"directory".into()
    );
    // An absolute path inside the root works too.
    let whole = dir.path().join("a/b.txt").to_string_lossy().into_owned();
    let read = call(&tools, "read-file", &format!(r#"{{"path":"{whole}"}}"#))
        .await
        .unwrap();
    assert_eq!(read.get("bytes"), Some(&Value::from(3)));
}

#[tokio::test]
async fn bytes_that_are_no_text_come_as_base64() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::File::create(dir.path().join("x"))
        .unwrap()
        .write_all(&[0xff, 0xfe])
        .unwrap();
    let read = call(&builtin(dir.path(), &[]), "read-file", r#"{"path":"x"}"#)
        .await
        .unwrap();
    assert_eq!(read.get("content"), Some(&"//4=".into()));
    assert_eq!(read.get("encoding"), Some(&"base64".into()));
}

#[tokio::test]
async fn nothing_leads_out_of_the_roots() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), dir.path().join("file")).unwrap();
    let tools = builtin(dir.path(), &[]);
    let absolute = outside.path().join("secret").to_string_lossy().into_owned();
    for path in [
        "../x",
        "a/../../x",
        "link/secret",
        "file",
        absolute.as_str(),
        "",
        "a\\u0000b",
    ] {
        let failure = call(&tools, "read-file", &format!(r#"{{"path":"{path}"}}"#))
            .await
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Forbidden, "{path}: {failure}");
    }
    let arguments = r#"{"path":"link/new","content":"x"}"#;
    let failure = call(&tools, "write-file", arguments).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Forbidden, "{failure}");
    assert!(!outside.path().join("new").exists());
}

#[tokio::test]
async fn a_failure_holds_no_part_of_a_long_path() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    // A secret at the end of a path is redacted later, if all of it is there.
    let path = format!("../{}hush-hush", "x".repeat(192));
    let arguments = format!(r#"{{"path":"{path}"}}"#);
    let failure = call(&tools, "read-file", &arguments).await.unwrap_err();
    assert!(!failure.message.contains("hush"), "{failure}");
    assert!(failure.message.contains("204 characters"), "{failure}");
}

#[tokio::test]
async fn bad_arguments_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    for (tool, arguments, says) in [
        (
            "read-file",
            r#"{}"#,
            "`path` must be a string, but it is missing",
        ),
        ("read-file", r#"{"path":5}"#, "but it is a number"),
        ("read-file", r#"{"path":"x","pth":1}"#, "no argument `pth`"),
        (
            "write-file",
            r#"{"path":"x","content":"!","encoding":"base64"}"#,
            "write-file",
        ),
        ("http", r#"{"url":"ftp://x"}"#, "is not an HTTP URL scheme"),
    ] {
        let failure = call(&tools, tool, arguments).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadArguments, "{failure}");
        assert!(failure.message.contains(says), "{failure}");
    }
    let failure = call(&tools, "raed-file", "{}").await.unwrap_err();
    assert!(
        failure.message.contains("did you mean `read-file`?"),
        "{failure}"
    );
}

/// Answers one request with these bytes.
async fn answer_once(answer: &'static str) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    port
}

#[tokio::test]
async fn http_reaches_allowed_hosts_only() {
    let dir = tempfile::tempdir().unwrap();
    let port = answer_once("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}").await;
    let address = format!(r#"{{"url":"http://127.0.0.1:{port}/x"}}"#);
    let failure = call(&builtin(dir.path(), &[]), "http", &address)
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Forbidden);
    assert!(
        failure.message.contains("--allow-host 127.0.0.1"),
        "{failure}"
    );
    let allowed = builtin(dir.path(), &[&format!("127.0.0.1:{port}")]);
    let answer = call(&allowed, "http", &address).await.unwrap();
    assert_eq!(answer.get("body").unwrap().to_json(), r#"{"a":1}"#);
}

#[tokio::test]
async fn a_redirection_does_not_lead_out() {
    let dir = tempfile::tempdir().unwrap();
    let answer = "HTTP/1.1 302 Found\r\nlocation: http://localhost:1/\r\ncontent-length: 0\r\n\r\n";
    let port = answer_once(answer).await;
    let tools = builtin(dir.path(), &[&format!("127.0.0.1:{port}")]);
    let failure = call(
        &tools,
        "http",
        &format!(r#"{{"url":"http://127.0.0.1:{port}/?key=hush"}}"#),
    )
    .await;
    let failure = failure.unwrap_err();
    assert!(failure.message.contains("not allowed"), "{failure}");
    assert!(!failure.message.contains("hush"), "{failure}");
}

#[tokio::test]
async fn a_refusal_is_a_failure_with_its_answer() {
    let dir = tempfile::tempdir().unwrap();
    let port = answer_once("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno").await;
    let tools = builtin(dir.path(), &["127.0.0.1"]);
    let failure = call(
        &tools,
        "http",
        &format!(r#"{{"url":"http://127.0.0.1:{port}/"}}"#),
    )
    .await
    .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tool);
    assert_eq!(failure.data.unwrap().get("body"), Some(&"no".into()));
}
