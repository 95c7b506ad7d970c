//! The modern era of the protocol: a trace arrives in `_meta` and is passed on in `_meta`.

use super::spans::inside;
use super::{Otlp, SPAN, TRACE};
use crate::support::Tramline;
use crate::test_servers::Http;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;
use tramline_test_server::program;

const VERSION: &str = "2026-07-28";

/// A graph with a server that supports the modern era only.
fn document(home: &Tramline) -> PathBuf {
    let unruly = program::test_server().unwrap();
    let server = json!({"command": unruly, "args": ["--modern-only"], "protocol": "modern"});
    let document = json!({
        "version": "1.0",
        "server": {"name": "modern", "version": "1.0.0"},
        "mcpServers": {"u": server},
        "tools": [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "nodes": [
            {"id": "entry", "type": "entry", "next": "look"},
            {"id": "look", "type": "mcp", "server": "u", "tool": "meta", "args": {}, "next": "exit"},
            {"id": "exit", "type": "exit"},
        ]}],
    });
    let path = home.data.path().join("modern.yaml");
    std::fs::write(&path, document.to_string()).unwrap();
    path
}

/// A call as a modern client makes it: without a handshake, with everything in `_meta`.
fn request() -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "look", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "traceparent": format!("00-{TRACE}-{SPAN}-01"),
            "tracestate": "a=1",
            "baggage": "who=me",
        }},
    })
    .to_string()
}

/// The trace is the caller's, and the server received it in its own era.
fn went_through(otlp: &mut Otlp, result: &Value) {
    let seen = inside(result);
    let run = otlp.one("invoke_workflow look");
    let call = otlp.one("tools/call meta");
    assert_eq!(
        (&run["trace"], &run["parent"]),
        (&json!(TRACE), &json!(SPAN))
    );
    assert_eq!(run["state"], "a=1");
    let ours = format!("00-{TRACE}-{}-01", call["span"].as_str().unwrap());
    assert_eq!(seen["traceparent"], ours, "{seen}");
    assert_eq!(
        (&seen["tracestate"], &seen["baggage"]),
        (&json!("a=1"), &json!("who=me"))
    );
    assert_eq!(seen["io.modelcontextprotocol/protocolVersion"], VERSION);
}

#[test]
fn over_http_what_is_in_meta_goes_before_a_header() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let mut command = home.command(&["serve"]);
    otlp.set(&mut command);
    command.arg(document(&home));
    let server = Http::start(command);
    let (address, body) = (&server.address, request());
    let mut stream = TcpStream::connect(address).unwrap();
    let other = "00-11111111111111111111111111111111-2222222222222222-01";
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: {VERSION}\r\n\
         mcp-method: tools/call\r\nmcp-name: look\r\ntraceparent: {other}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let line = all.lines().find_map(|line| {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        let answer: Value = serde_json::from_str(line).ok()?;
        answer.get("result").cloned()
    });
    went_through(&mut otlp, &line.unwrap_or_else(|| panic!("{all}")));
}

#[test]
fn over_pipes_it_needs_no_handshake() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let mut command = home.command(&["serve"]);
    otlp.set(&mut command);
    let mut child = command
        .arg(document(&home))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", request()).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|answer| answer["id"] == 1)
        .unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    went_through(&mut otlp, &answer["result"]);
}
