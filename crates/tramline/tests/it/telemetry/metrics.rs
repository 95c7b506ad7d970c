//! Metrics as Prometheus scrapes them, pushed metrics, and log lines.

use super::{Otlp, document, http};
use crate::support::{CommandResult, Tramline};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);

/// The status and body of a path.
fn get(address: &str, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\n\r\n"
    )
    .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// Calls a graph over HTTP.
fn call(address: &str, tool: &str) -> String {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    })
    .to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\n\
         traceparent: 00-{}-{}-01\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        super::TRACE,
        super::SPAN,
        body.len()
    )
    .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

#[test]
fn prometheus_takes_what_metrics_say() {
    let home = Tramline::new();
    let path = document(home.data.path());
    let server = http(&home, &path, &["--metrics"]);
    for tool in ["look", "breaks", "again", "outer"] {
        let said = call(&server.address, tool);
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    }
    let paused = home.run(&["run", path.to_str().unwrap(), "careful", "--json"]);
    assert_eq!(paused.code(), 4);
    let (status, text) = get(&server.address, "/metrics", "");
    assert_eq!(status, 200, "{text}");
    let line = |line: &str| assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    line("tramline_runs_ended_total{status=\"completed\"} 4");
    line("tramline_runs_ended_total{status=\"failed\"} 1");
    line("tramline_retries_total 1");
    line("tramline_runs_paused 1");
    line("tramline_runs_live 0");
    line("tramline_failures_total{of=\"run\",code=\"T0501\"} 1");
    line("gen_ai_workflow_duration_seconds_count{gen_ai_workflow_name=\"look\"} 1");
    line(
        "mcp_client_operation_duration_seconds_count{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"fail\",network_transport=\"pipe\",tramline_server=\"u\",error_type=\"tool_error\"} 1",
    );
    checked(&text);
}

#[test]
fn a_fork_begins_where_it_leaves_the_other() {
    let home = Tramline::new();
    let path = document(home.data.path());
    let server = http(&home, &path, &["--metrics"]);
    call(&server.address, "look");
    let (_, runs) = get(&server.address, "/api/runs", "");
    let runs: Value = serde_json::from_str(&runs).unwrap();
    let run = runs["runs"][0]["run_id"].as_str().unwrap();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = json!({"input": {}}).to_string();
    write!(
        stream,
        "POST /api/runs/{run}/fork HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 201"), "{said}");
    let ended = "tramline_runs_ended_total{status=\"completed\"} 2";
    let began = Instant::now();
    let text = loop {
        let (_, text) = get(&server.address, "/metrics", "");
        if text.contains(ended) {
            break text;
        }
        assert!(began.elapsed() < SOON, "{text}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(text.contains("tramline_runs_started_total 2"), "{text}");
}

/// Checks metrics with Prometheus' own checker.
fn checked(text: &str) {
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        let missing = "promtool is not installed";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        println!("not run: {missing}; `cargo xtask setup` brings it");
        return;
    };
    let mut input = promtool.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let done = promtool.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.trim().is_empty(),
        "{said}\n{text}"
    );
}

#[test]
fn metrics_are_off_unless_asked_for_and_guarded_like_the_api() {
    let home = Tramline::new();
    let path = document(home.data.path());
    let server = http(&home, &path, &[]);
    assert_eq!(get(&server.address, "/metrics", "").0, 404);
    drop(server);
    let server = http(&home, &path, &["--metrics", "--token", "let-me-in"]);
    assert_eq!(get(&server.address, "/metrics", "").0, 401);
    let token = "authorization: Bearer let-me-in\r\n";
    assert_eq!(get(&server.address, "/metrics", token).0, 200);
    let elsewhere = "authorization: Bearer let-me-in\r\norigin: http://evil.example\r\n";
    assert_eq!(get(&server.address, "/metrics", elsewhere).0, 403);
}

#[test]
fn metrics_can_be_pushed_and_headers_name_a_trace() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let mut command = home.command(&["serve"]);
    otlp.set(&mut command);
    command
        .arg(&path)
        .env("OTEL_METRICS_EXPORTER", "otlp")
        .env("OTEL_METRIC_EXPORT_INTERVAL", "200");
    let server = crate::test_servers::Http::start(command);
    call(&server.address, "look");
    let run = otlp.one("invoke_workflow look");
    assert_eq!(
        (&run["trace"], &run["parent"]),
        (&json!(super::TRACE), &json!(super::SPAN))
    );
    let took = otlp.metric("mcp.client.operation.duration");
    assert_eq!((&took["unit"], &took["counts"]), (&json!("s"), &json!([1])));
}

#[test]
fn log_lines_are_json_and_name_their_run() {
    let home = Tramline::new();
    let path = document(home.data.path());
    let words = ["run", path.to_str().unwrap(), "breaks", "--json"];
    let quiet = home.run(&words);
    assert!(!quiet.err().contains("tramline::run"), "{}", quiet.err());
    let log = ["--log", "tramline=debug", "--log-format", "json"];
    let done = CommandResult(home.command(&words).args(log).output().unwrap());
    let id = done.text("run_id");
    let lines = done.err();
    let lines: Vec<Value> = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of_run = |line: &&Value| line["run"] == id;
    let said: Vec<_> = lines
        .iter()
        .filter(of_run)
        .map(|line| line["message"].as_str().unwrap())
        .collect();
    assert_eq!(said.first(), Some(&"run started"));
    assert!(
        said.contains(&"call sent") && said.contains(&"step failed"),
        "{said:?}"
    );
    assert_eq!(said.last(), Some(&"run failed"));
    let bad = home.run(&["run", "x.yaml", "--log", "tramline=loud"]);
    assert_eq!(bad.code(), 2, "{}", bad.err());
}

/// Sends JSON to the API and returns the body of the reply.
fn post(address: &str, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let body = all.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{all}"))
}

#[test]
fn a_step_that_was_cancelled_is_no_failure() {
    let home = Tramline::new();
    let path = home.data.path().join("nap.yaml");
    let text = r#"version: "1"
server: {name: nap, version: "1"}
tools:
  - name: nap
    description: Waits for an hour.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: rest}
      - {id: rest, type: wait, for: 1h, next: exit}
      - {id: exit, type: exit}
"#;
    std::fs::write(&path, text).unwrap();
    let server = http(&home, &path, &["--metrics"]);
    let run = post(&server.address, "/api/tools/nap/runs", &json!({}));
    let run = run["run_id"].as_str().unwrap();
    let begun = Instant::now();
    let timeline = format!("/api/runs/{run}/timeline");
    while !get(&server.address, &timeline, "").1.contains("\"rest\"") {
        assert!(begun.elapsed() < SOON);
    }
    let ended = post(
        &server.address,
        &format!("/api/runs/{run}/abort"),
        &json!({"why": "enough"}),
    );
    assert_eq!(ended["status"], "aborted", "{ended}");
    let (_, text) = get(&server.address, "/metrics", "");
    assert!(text.contains("outcome=\"cancelled\"} 1"), "{text}");
    assert!(!text.contains("tramline_failures_total{"), "{text}");
    assert!(!text.contains("outcome=\"failed\""), "{text}");
}
