//! Real servers, over stdio and over HTTP.
//!
//! They are installed under `$TRAMLINE_TOOLS`. If they are missing, these tests say so and pass; in CI they
//! fail.

use crate::support::{SOON, json, options};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{ToolCallRequest, Tools};
use tramline_expr::Value;
use tramline_mcp_client::config::read;
use tramline_mcp_client::{Era, ServerState, Servers};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// The installed program; `None` after printing that it is missing.
fn installed(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TRAMLINE_TOOLS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"),
        PathBuf::from,
    );
    let program = folder.join(path);
    if program.exists() {
        return Some(program);
    }
    let missing = format!("{} is not installed", program.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("not run: {missing}");
    None
}

struct Real(Servers);

impl Real {
    fn start(server: &str) -> Self {
        let text = format!(r#"{{"mcpServers": {{"s": {server}}}}}"#);
        Self(Servers::new(read(&json(&text)).unwrap(), options()))
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let call = ToolCallRequest {
            tool: ToolName::new("s", tool),
            arguments,
            key: "key".into(),
            timeout: SOON,
            cancel: CancellationToken::new(),
            progress: None,
            upstream: None,
        };
        self.0.call(call).await
    }

    async fn get(&self, tool: &str, arguments: &str) -> Value {
        let output = self.call(tool, json(arguments)).await;
        output.unwrap_or_else(|failure| panic!("{tool}: {failure}"))
    }
}

#[tokio::test]
async fn filesystem() {
    let Some(program) = installed("node_modules/.bin/mcp-server-filesystem") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let real = Real::start(&format!(
        r#"{{"command": {program:?}, "args": [{path:?}]}}"#
    ));
    let file = path.join("a.txt");
    let write = format!(r#"{{"path": {file:?}, "content": "hello"}}"#);
    real.get("write_file", &write).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello");
    let text = real
        .get("read_text_file", &format!(r#"{{"path": {file:?}}}"#))
        .await;
    assert_eq!(text.get("content"), Some(&"hello".into()));
    let listed = real
        .get("list_directory", &format!(r#"{{"path": {path:?}}}"#))
        .await;
    assert!(listed.to_json().contains("[FILE] a.txt"), "{listed}");
    let failure = real
        .call("read_text_file", json(r#"{"path": "/etc/passwd"}"#))
        .await;
    assert_eq!(failure.unwrap_err().kind, FailureKind::Tool);
    let tool = real.0.known(&ToolName::new("s", "read_text_file")).unwrap();
    assert_eq!(tool.hints.read_only, Some(true));
    real.0.shutdown().await;
}

#[tokio::test]
async fn memory() {
    let Some(program) = installed("node_modules/.bin/mcp-server-memory") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.jsonl");
    let env = format!(r#"{{"MEMORY_FILE_PATH": {file:?}}}"#);
    let real = Real::start(&format!(r#"{{"command": {program:?}, "env": {env}}}"#));
    let entity =
        r#"{"entities": [{"name": "tram", "entityType": "vehicle", "observations": ["yellow"]}]}"#;
    real.get("create_entities", entity).await;
    let graph = real.get("read_graph", "{}").await;
    let first = graph.get("entities").and_then(|entities| entities.at(0));
    assert_eq!(
        first.and_then(|entity| entity.get("name")),
        Some(&"tram".into())
    );
    real.0.shutdown().await;
}

#[tokio::test]
async fn time() {
    let Some(program) = installed("venv/bin/mcp-server-time") else {
        return;
    };
    for (protocol, era) in [("auto", Era::Legacy), ("modern", Era::Modern)] {
        let config = format!(r#"{{"command": {program:?}, "protocol": "{protocol}"}}"#);
        let real = Real::start(&config);
        let time = real
            .get("get_current_time", r#"{"timezone": "Europe/Lisbon"}"#)
            .await;
        assert_eq!(time.get("timezone"), Some(&"Europe/Lisbon".into()));
        let ServerState::Ready { era: spoken, .. } = real.0.status()[0].state else {
            panic!("not ready");
        };
        assert_eq!(spoken, era);
        real.0.shutdown().await;
    }
}

async fn check_everything(real: &Real) {
    let echo = real.get("echo", r#"{"message": "hi"}"#).await;
    assert_eq!(echo, "Echo: hi".into());
    let listings = real.0.list().await;
    let tools = listings[0].tools.as_ref().unwrap();
    assert!(tools.len() > 8, "{} tools", tools.len());
    let failure = real.call("ecoh", Value::Null).await.unwrap_err();
    assert!(
        failure.message.contains("did you mean `echo`?"),
        "{failure}"
    );
}

#[tokio::test]
async fn everything() {
    let Some(program) = installed("node_modules/.bin/mcp-server-everything") else {
        return;
    };
    let real = Real::start(&format!(r#"{{"command": {program:?}, "args": ["stdio"]}}"#));
    check_everything(&real).await;
    real.0.shutdown().await;
}

/// Starts the server at an address and waits until it listens.
async fn listen(program: &Path, address: SocketAddr) -> Child {
    let server = tokio::process::Command::new(program)
        .arg("streamableHttp")
        .env("PORT", address.port().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let start = Instant::now();
    while tokio::net::TcpStream::connect(address).await.is_err() {
        assert!(start.elapsed() < SOON, "no server on {address}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server
}

#[tokio::test]
async fn everything_over_http() {
    let Some(program) = installed("node_modules/.bin/mcp-server-everything") else {
        return;
    };
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut server = listen(&program, address).await;
    let real = Real::start(&format!(
        r#"{{"type": "streamableHttp", "url": "http://{address}/mcp", "headers": {{"X-A": "b"}}}}"#
    ));
    check_everything(&real).await;

    // The server dies before a call.
    server.kill().await.unwrap();
    let message = json(r#"{"message": "hi"}"#);
    let failure = real.call("echo", message.clone()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable, "{failure}");
    let mut server = listen(&program, address).await;
    check_everything(&real).await;

    // The server restarts between two calls: the session is lost, and only one call with it.
    server.kill().await.unwrap();
    let _server = listen(&program, address).await;
    let failure = real.call("echo", message).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable, "{failure}");
    check_everything(&real).await;
    real.0.shutdown().await;
}
