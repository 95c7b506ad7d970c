//! HTTP clients, one or many, each of which calls as fast as it is answered.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

/// Concurrent clients.
pub(crate) const CLIENTS: usize = 64;

/// Seconds to wait for an answer.
const SILENCE_S_MAX: u64 = 60;

/// Kills a server.
pub(crate) fn kill_server(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads the address of a server from the first line of its output.
pub(crate) fn listening(said: impl Read) -> Result<SocketAddr> {
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let address = line.trim().rsplit("http://").next().unwrap_or_default();
    let address = address.trim_end_matches("/mcp").parse();
    address.with_context(|| format!("no address in {line}"))
}

/// A request, and what the answer must contain.
#[derive(Clone, Debug)]
pub(crate) struct McpRequest {
    method: &'static str,
    tool: Option<&'static str>,
    arguments: Value,
    wants: &'static str,
    protocol: &'static str,
    path: &'static str,
}

impl McpRequest {
    /// A tool call in the protocol of 2026-07-28, which needs no handshake.
    pub(crate) fn call(tool: &'static str, arguments: Value) -> Self {
        Self {
            method: "tools/call",
            tool: Some(tool),
            arguments,
            wants: "structuredContent\":{",
            protocol: "2026-07-28",
            path: "/mcp",
        }
    }

    /// The list of tools.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn list() -> Self {
        Self {
            method: "tools/list",
            tool: None,
            arguments: Value::Null,
            wants: "inputSchema",
            protocol: "2026-07-28",
            path: "/mcp",
        }
    }

    /// The same for a server with an older protocol, whose answers contain `wants`.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn older(self, protocol: &'static str, wants: &'static str) -> Self {
        Self {
            protocol,
            wants,
            ..self
        }
    }

    /// The same for a server at another path.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn at(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    fn request(&self, address: SocketAddr) -> String {
        let mut params = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": self.protocol,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}});
        let mut name = String::new();
        if let Some(tool) = self.tool {
            params["name"] = json!(tool);
            params["arguments"] = self.arguments.clone();
            name = format!("mcp-name: {tool}\r\n");
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params});
        let body = body.to_string();
        format!(
            "POST {} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {}\r\n\
             mcp-method: {}\r\n{name}content-length: {}\r\n\r\n{body}",
            self.path,
            self.protocol,
            self.method,
            body.len()
        )
    }
}

/// The results.
pub(crate) struct LoadResult {
    /// Calls per second.
    pub(crate) rate: f64,
    /// The median, in milliseconds.
    pub(crate) median_ms: f64,
    /// The 99th percentile, in milliseconds.
    pub(crate) p99_ms: f64,
    /// The total time, in milliseconds.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) total_ms: f64,
}

/// Runs `clients` concurrent clients, each of which makes `calls` calls.
pub(crate) fn run_load(
    address: SocketAddr,
    ask: &McpRequest,
    clients: usize,
    calls: usize,
) -> Result<LoadResult> {
    // A first call, so that startup is not measured.
    client(address, ask, 1)?;
    let began = Instant::now();
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let ask = ask.clone();
            std::thread::spawn(move || client(address, &ask, calls))
        })
        .collect();
    let mut times = Vec::new();
    for client in clients {
        match client.join() {
            Ok(took) => times.extend(took?),
            Err(_) => bail!("a client panicked"),
        }
    }
    let took = began.elapsed();
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    Ok(LoadResult {
        rate: times.len() as f64 / took.as_secs_f64(),
        median_ms: ms(times.len() / 2),
        p99_ms: ms(times.len() * 99 / 100),
        total_ms: took.as_secs_f64() * 1e3,
    })
}

/// One client on its own connection; returns the time of each call.
pub(crate) fn client(address: SocketAddr, ask: &McpRequest, calls: usize) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(SILENCE_S_MAX)))?;
    let request = ask.request(address);
    let (mut heard, mut part) = (Vec::new(), [0; 8192]);
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let began = Instant::now();
        stream.write_all(request.as_bytes())?;
        heard.clear();
        while !is_complete(&heard) {
            let count = stream.read(&mut part)?;
            let so_far = || String::from_utf8_lossy(&heard).into_owned();
            ensure!(count > 0, "cut off after {}", so_far());
            heard.extend_from_slice(&part[..count]);
        }
        times.push(began.elapsed());
        let wanted = ask.wants.as_bytes();
        let there = heard.windows(wanted.len()).any(|text| text == wanted);
        ensure!(there, "{}", String::from_utf8_lossy(&heard));
    }
    Ok(times)
}

/// Whether an answer is complete.
fn is_complete(heard: &[u8]) -> bool {
    let Some(head) = heard.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let text = String::from_utf8_lossy(&heard[..head]).to_lowercase();
    let length = text.lines().find_map(|line| {
        line.strip_prefix("content-length: ")?
            .trim()
            .parse::<usize>()
            .ok()
    });
    match length {
        Some(length) => heard.len() >= head + 4 + length,
        None => heard.ends_with(b"0\r\n\r\n"),
    }
}
