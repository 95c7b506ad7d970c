//! Minimal servers as a baseline.

use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The argument that makes this program an MCP server with two tools, over stdio.
pub(crate) const STDIO: &str = "echo-stdio";
/// The argument that makes this program an HTTP server with a fixed answer.
pub(crate) const HTTP: &str = "echo-http";

/// Answers calls of `echo` with their arguments, and calls of `sleep` after their milliseconds.
pub(crate) fn stdio() -> Result<()> {
    let (sleeping, slept) = mpsc::channel();
    std::thread::spawn(move || wake(&slept));
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else {
            continue;
        };
        let called = &request["params"];
        if called["name"] == "sleep" {
            let ms = called["arguments"]["ms"].as_u64().unwrap_or(0);
            let until = Instant::now() + Duration::from_millis(ms);
            sleeping.send((until, id.clone(), ms))?;
            continue;
        }
        match request["method"].as_str() {
            Some("initialize") => write_line(
                id,
                "result",
                &json!({
                "protocolVersion": called["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}),
            )?,
            Some("tools/list") => write_line(
                id,
                "result",
                &json!({"tools": [tool("echo", "n"), tool("sleep", "ms")]}),
            )?,
            Some("tools/call") => write_line(id, "result", &tool_result(&called["arguments"]))?,
            Some("ping") => write_line(id, "result", &json!({}))?,
            _ => write_line(
                id,
                "error",
                &json!({"code": -32601, "message": "no such method"}),
            )?,
        }
    }
    Ok(())
}

/// Answers calls of `sleep` when their time has come, all from one thread: starting a thread per
/// call would take longer than what is measured.
fn wake(slept: &mpsc::Receiver<(Instant, Value, u64)>) {
    let (mut waiting, mut count) = (BTreeMap::<(Instant, u64), (Value, u64)>::new(), 0);
    loop {
        let now = Instant::now();
        while let Some(first) = waiting.first_entry().filter(|it| it.key().0 <= now) {
            let (id, ms) = first.remove();
            // The client may be gone.
            let _ = write_line(&id, "result", &tool_result(&json!({ "ms": ms })));
        }
        let next = waiting.first_key_value().map(|((until, _), _)| *until);
        let heard = match next {
            None => slept.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => slept.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        match heard {
            Ok((until, id, ms)) => {
                count += 1;
                waiting.insert((until, count), (id, ms));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn tool(name: &str, argument: &str) -> Value {
    json!({
        "name": name, "description": "Is measured.", "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "properties": {argument: {"type": "number"}}}})
}

/// The result of a call.
fn tool_result(value: &Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

/// Writes one whole line, without interleaving.
fn write_line(id: &Value, kind: &str, what: &Value) -> Result<()> {
    let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, kind: what}));
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Answers every request with the same body, one thread per connection.
pub(crate) fn http() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            // A disconnected client is not an error.
            let _ = answer(stream);
        });
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> Result<()> {
    const BODY: &str =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":1}}}"#;
    stream.set_nodelay(true)?;
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let (mut heard, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let head = loop {
            if let Some(at) = heard.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut part)? {
                0 => return Ok(()),
                count => heard.extend_from_slice(&part[..count]),
            }
        };
        let text = String::from_utf8_lossy(&heard[..head]).to_lowercase();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok())
            .unwrap_or(0);
        while heard.len() < head + length {
            match stream.read(&mut part)? {
                0 => return Ok(()),
                count => heard.extend_from_slice(&part[..count]),
            }
        }
        heard.drain(..head + length);
        stream.write_all(reply.as_bytes())?;
    }
}
