//! The barest servers there can be: what everything else is measured against.

use anyhow::Result;
use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The argument that makes this program an MCP server with one tool, over standard streams.
pub(crate) const STDIO: &str = "echo-stdio";
/// The argument that makes this program an HTTP server that always says the same.
pub(crate) const HTTP: &str = "echo-http";

/// Answers every call of `echo` with its arguments.
pub(crate) fn stdio() -> Result<()> {
    let (stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    for line in stdin.lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else {
            continue;
        };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}),
            Some("tools/list") => json!({"tools": [{
                "name": "echo", "description": "Says what it hears.",
                "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]}),
            Some("tools/call") => {
                let heard = &request["params"]["arguments"];
                json!({"content": [{"type": "text", "text": heard.to_string()}], "structuredContent": heard})
            }
            Some("ping") => json!({}),
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                writeln!(
                    stdout,
                    "{}",
                    json!({"jsonrpc": "2.0", "id": id, "error": error})
                )?;
                stdout.flush()?;
                continue;
            }
        };
        writeln!(
            stdout,
            "{}",
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        )?;
        stdout.flush()?;
    }
    Ok(())
}

/// Answers every request with the same, a thread for each connection.
pub(crate) fn http() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            // A client that goes away is no matter.
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
