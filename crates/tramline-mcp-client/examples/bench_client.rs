//! Overhead of a call compared with a bare client of the library: same server, same tool, alternating.
//!
//! `cargo run --release -p tramline-mcp-client --example bench_client [calls]`, with `unruly` built.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark prints and may panic"
)]

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{ToolCallRequest, Tools};
use tramline_expr::Value;
use tramline_mcp_client::config::read;
use tramline_mcp_client::{ClientOptions, Servers};
use tramline_workflow::ids::ToolName;

/// Number of short alternating rounds; the best one counts, because a long round never runs alone on a busy
/// machine.
const ROUNDS: usize = 200;

/// Number of rounds for measurements that take tens of milliseconds.
const SLOW_ROUNDS: usize = 10;

#[tokio::main]
async fn main() {
    let calls = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let calls: u32 = calls.unwrap_or(100);
    let program = program();
    let mut child = tokio::process::Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("unruly starts");
    let streams = (child.stdout.take(), child.stdin.take());
    let (Some(stdout), Some(stdin)) = streams else {
        return;
    };
    let bare = ().serve(AsyncRwTransport::new(stdout, stdin)).await.expect("a handshake");
    let text = format!(r#"{{"servers": {{"u": {{"command": {program:?}}}}}}}"#);
    let config = read(&Value::from_json(&text).expect("JSON")).expect("a configuration");
    let servers = Servers::new(config, ClientOptions::default());

    let (mut best_bare, mut best_ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            let arguments = serde_json::json!({"text": "hello", "n": 1});
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            let params = CallToolRequestParams::new("echo").with_arguments(arguments);
            bare.call_tool(params).await.expect("an answer");
        }
        best_bare = best_bare.min(start.elapsed() / calls);
        let start = Instant::now();
        for _ in 0..calls {
            servers.call(echo()).await.expect("an answer");
        }
        best_ours = best_ours.min(start.elapsed() / calls);
    }
    println!("bare client   {best_bare:?} per call");
    println!("our client    {best_ours:?} per call");
    println!("added         {:?}", best_ours.saturating_sub(best_bare));
    wide(&servers).await;
    cold(&program).await;
    servers.shutdown().await;
}

/// Many concurrent calls of 50 ms each.
async fn wide(servers: &Servers) {
    let mut best = Duration::MAX;
    for _ in 0..SLOW_ROUNDS {
        let calls = (0..50).map(|_| {
            let mut call = echo();
            call.tool = ToolName::new("u", "sleep");
            call.arguments = Value::object([("ms", 50.into())]);
            servers.call(call)
        });
        let start = Instant::now();
        futures_util::future::join_all(calls).await;
        best = best.min(start.elapsed());
    }
    println!("50 x 50 ms    {best:?}");
}

/// Time from the start to the first answer.
async fn cold(program: &PathBuf) {
    let mut best = Duration::MAX;
    for _ in 0..SLOW_ROUNDS {
        let text = format!(r#"{{"servers": {{"u": {{"command": {program:?}}}}}}}"#);
        let config = read(&Value::from_json(&text).expect("JSON")).expect("a configuration");
        let start = Instant::now();
        let servers = Servers::new(config, ClientOptions::default());
        servers.call(echo()).await.expect("an answer");
        best = best.min(start.elapsed());
        servers.shutdown().await;
    }
    println!("first answer  {best:?} after the start");
}

fn echo() -> ToolCallRequest {
    ToolCallRequest {
        tool: ToolName::new("u", "echo"),
        arguments: Value::object([("text", "hello".into()), ("n", 1.into())]),
        key: "run_01k9-7".into(),
        timeout: Duration::from_secs(30),
        cancel: CancellationToken::new(),
        progress: None,
        upstream: None,
    }
}

/// Path of `unruly`, next to this program.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let target = own.parent().and_then(|folder| folder.parent());
    target
        .map(|folder| folder.join("unruly"))
        .unwrap_or_default()
}
