//! A small HTTP client over plain sockets that can also send malformed requests.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The MCP version whose calls need no session.
const VERSION: &str = "2026-07-28";

/// Bytes of a reply that are read; the rest is ignored.
const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Timeout for connecting on loopback.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// A request, each part of which can be wrong.
#[derive(Clone, Debug)]
pub(super) struct HttpRequest {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A reply; the status is 0 if it was not HTTP.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl HttpRequest {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self {
            line: format!("{method} {path} HTTP/1.1"),
            headers: vec![("connection".to_owned(), "close".to_owned())],
            body: Vec::new(),
        }
    }

    /// A request with a JSON body.
    pub(super) fn json(method: &str, path: &str, body: &Value) -> Self {
        Self::new(method, path)
            .with("content-type", "application/json")
            .body(body.to_string().into_bytes())
    }

    /// A tool call over MCP, in the version without sessions.
    pub(super) fn call(tool: &str, arguments: &Value) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        Self::json("POST", "/mcp", &body)
            .with("accept", "application/json, text/event-stream")
            .with("mcp-protocol-version", VERSION)
            .with("mcp-method", "tools/call")
            .with("mcp-name", tool)
    }

    /// Sets a header, replacing one of the same name.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a bearer token, if there is one.
    pub(super) fn bearer(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.with("authorization", &format!("Bearer {token}")),
            None => self,
        }
    }

    pub(super) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.line);
        let says = |name: &str| self.headers.iter().any(|(known, _)| known == name);
        if !says("host") {
            text += &format!("host: {address}\r\n");
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !says("content-length") && !says("transfer-encoding") {
            text += &format!("content-length: {}\r\n", self.body.len());
        }
        let mut bytes = format!("{text}\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends the request and leaves the connection open.
    pub(super) fn open(&self, address: SocketAddr) -> Result<TcpStream> {
        let mut stream = connect(address)?;
        stream.write_all(&self.bytes(address))?;
        Ok(stream)
    }

    /// Sends the request and waits for the reply, or for what has arrived by then.
    pub(super) fn send(&self, address: SocketAddr, wait: Duration) -> Result<HttpReply> {
        read(self.open(address)?, wait)
    }
}

impl HttpReply {
    /// The JSON in the body or in the last event of a stream.
    pub(super) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let last = events.rfind(|event| event.contains('{'));
        let chosen = last.unwrap_or(&text).trim();
        serde_json::from_str(chosen).unwrap_or_default()
    }

    /// The structured content of a tool result.
    pub(super) fn structured(&self) -> Value {
        self.json()["result"]["structuredContent"].clone()
    }

    /// The outcome as a word for the report.
    pub(super) fn outcome(&self) -> &'static str {
        match self.status {
            0 => return "no answer",
            500.. => return "server error",
            400.. => return "rejected",
            _ => {}
        }
        let json = self.json();
        let result = &json["result"];
        let failed = !json["error"].is_null()
            || result["isError"] == true
            || result["structuredContent"]["success"] == false
            || result["structuredContent"]["status"] == "error";
        if failed { "failed" } else { "answered" }
    }
}

/// A connection to a server, with timeouts.
pub(super) fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_MAX).context("connecting")?;
    stream.set_write_timeout(Some(CONNECT_MAX))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads until the server closes, the size limit is reached, or the time is over.
pub(super) fn read(mut stream: TcpStream, wait: Duration) -> Result<HttpReply> {
    let begun = Instant::now();
    let (mut bytes, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    while bytes.len() < REPLY_BYTES_MAX {
        let left = wait.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Ok(reply(&bytes))
}

fn reply(bytes: &[u8]) -> HttpReply {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = match end {
        Some(end) => bytes.split_at(end + 4),
        None => (bytes, &[][..]),
    };
    let head = String::from_utf8_lossy(head).into_owned();
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| {
        let number = rest.split(' ').nth(1)?;
        number.parse().ok()
    });
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if chunked { joined(body) } else { body.to_vec() };
    HttpReply {
        status: status.unwrap_or(0),
        head,
        body,
    }
}

/// Joins the chunks of a body.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let (size, after) = rest.split_at(end);
        let size = String::from_utf8_lossy(size);
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else {
            break;
        };
        let after = after.get(2..).unwrap_or_default();
        body.extend_from_slice(after.get(..size).unwrap_or(after));
        if size == 0 {
            break;
        }
        rest = after.get(size + 2..).unwrap_or_default();
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_in_all_their_forms() {
        let plain = reply(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}");
        assert_eq!((plain.status, plain.json()), (200, json!({"a": 1})));
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
            7\r\ndata: {\r\n7\r\n\"b\": 2}\r\n0\r\n\r\n";
        assert_eq!(reply(chunked).json(), json!({"b": 2}));
        assert_eq!(reply(b"rubbish").status, 0);
        assert_eq!(reply(b"rubbish").outcome(), "no answer");
        assert_eq!(reply(b"HTTP/1.1 403 No\r\n\r\n").outcome(), "rejected");
    }
}
