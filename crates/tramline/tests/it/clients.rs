//! Raw HTTP and raw lines against `tramline serve`, for requests that no client library sends.

use crate::support::root;
use crate::test_servers::{Http, StdioClient, serve};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TRAMLINE: &str = env!("CARGO_BIN_EXE_tramline");
/// Everything that is waited for arrives within this, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The examples.
pub(crate) fn examples() -> Vec<PathBuf> {
    let names = ["switch", "errors", "approval", "ask", "loop", "parallel"];
    let path = |name| PathBuf::from(format!("examples/graphs/{name}.yaml"));
    names.into_iter().map(path).collect()
}

/// Over HTTP, with a token or without.
fn start(data: &Path, token: Option<&str>) -> Http {
    let mut command = serve(&examples(), data);
    if let Some(token) = token {
        command.env("TRAMLINE_TOKEN", token);
    }
    Http::start(command)
}

/// The status of a bare request with these headers.
fn post(server: &Http, headers: &[(&str, &str)]) -> u16 {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
    .to_string();
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n",
        server.address,
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(format!("{request}\r\n{body}").as_bytes())
        .unwrap();
    // The first line has the status; an event stream may stay open.
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    let line = String::from_utf8_lossy(&line).into_owned();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn foreign_origins_and_wrong_tokens_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let open = start(data.path(), None);
    let own = format!("http://{}", open.address);
    assert_eq!(post(&open, &[]), 200);
    assert_eq!(post(&open, &[("Origin", &own)]), 200);
    assert_eq!(post(&open, &[("Origin", "http://evil.example")]), 403);
    drop(open);
    let closed = start(data.path(), Some("secret"));
    assert_eq!(post(&closed, &[]), 401);
    assert_eq!(post(&closed, &[("Authorization", "Bearer secreT")]), 401);
    assert_eq!(post(&closed, &[("Authorization", "Basic secret")]), 401);
    assert_eq!(post(&closed, &[("Authorization", "Bearer secret")]), 200);
    let foreign = [
        ("Authorization", "Bearer secret"),
        ("Origin", "http://evil.example"),
    ];
    assert_eq!(post(&closed, &foreign), 403);
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    let data = tempfile::tempdir().unwrap();
    let output = serve(&examples(), data.path())
        .args(["--http", "0.0.0.0:0"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("TRAMLINE_TOKEN"), "{said}");
}

#[test]
fn a_killed_servers_run_is_listed_and_answered_afterwards() {
    let data = tempfile::tempdir().unwrap();
    let mut command = serve(&examples(), data.path());
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = StdioClient::start(piped.spawn().unwrap());
    let arguments = json!({"path": "target/never-written.txt", "text": "x"});
    let answer = client.call("write_note", &arguments);
    client.kill();
    let text = answer["content"][0]["text"].as_str().unwrap();
    let error = &serde_json::from_str::<Value>(text).unwrap()["error"];
    let (run, asked) = (&error["run_id"], &error["waiting"][0]["checkpoint_id"]);
    let listed = tramline(data.path(), &["runs"]);
    assert_eq!(listed["runs"][0]["run_id"], *run);
    assert_eq!(listed["runs"][0]["status"], "paused");
    let answer = ["runs", "answer", asked.as_str().unwrap(), "--no"];
    tramline(data.path(), &answer);
    let began = Instant::now();
    while tramline(data.path(), &["runs"])["runs"][0]["status"] == "paused" {
        assert!(began.elapsed() < PATIENCE);
    }
}

/// What a command prints.
fn tramline(data: &Path, words: &[&str]) -> Value {
    let output = Command::new(TRAMLINE)
        .args(words)
        .args(["--json", "--data-dir"])
        .arg(data)
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}
