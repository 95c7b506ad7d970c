//! Clients over HTTP, alone or many at once, each calling as fast as it is answered.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

/// So many clients call at once.
pub(crate) const CLIENTS: usize = 64;

/// A server that says nothing for so long is given up.
const SILENCE_S_MAX: u64 = 60;

/// Ends a server.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads where a server listens from the first line it says.
pub(crate) fn listening(said: impl Read) -> Result<SocketAddr> {
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let address = line.trim().rsplit("http://").next().unwrap_or_default();
    let address = address.trim_end_matches("/mcp").parse();
    address.with_context(|| format!("where it listens: {line}"))
}

/// What a client asks for, and what must be in the answer.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: &'static str,
    tool: Option<&'static str>,
    arguments: Value,
    wants: &'static str,
    protocol: &'static str,
    path: &'static str,
}

impl Ask {
    /// A call of a tool in the protocol of 2026-07-28, which needs no handshake.
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
    #[allow(dead_code, reason = "not every program that measures asks for it")]
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

    /// The same of a server that knows only an older protocol, where so much is in a good answer.
    #[allow(dead_code, reason = "not every program that measures has one")]
    pub(crate) fn older(self, protocol: &'static str, wants: &'static str) -> Self {
        Self {
            protocol,
            wants,
            ..self
        }
    }

    /// The same of a server that listens at another path.
    #[allow(dead_code, reason = "not every program that measures has one")]
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

/// What came of it.
pub(crate) struct Storm {
    /// Calls a second.
    pub(crate) rate: f64,
    /// Half of the calls took no longer, in milliseconds.
    pub(crate) half: f64,
    /// So did 99 of 100.
    pub(crate) most: f64,
    /// How long it all took, in milliseconds.
    #[allow(dead_code, reason = "not every program that measures tells it")]
    pub(crate) took: f64,
}

/// So many clients, each calling as fast as it is answered.
pub(crate) fn storm(address: SocketAddr, ask: &Ask, clients: usize, calls: usize) -> Result<Storm> {
    // A first call, so that nothing is started while time is taken.
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
            Err(_) => bail!("a client died"),
        }
    }
    let took = began.elapsed();
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    Ok(Storm {
        rate: times.len() as f64 / took.as_secs_f64(),
        half: ms(times.len() / 2),
        most: ms(times.len() * 99 / 100),
        took: took.as_secs_f64() * 1e3,
    })
}

/// One client over a connection of its own: how long each of its calls took.
pub(crate) fn client(address: SocketAddr, ask: &Ask, calls: usize) -> Result<Vec<Duration>> {
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
        while !whole(&heard) {
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

/// Whether an answer has come to its end.
fn whole(heard: &[u8]) -> bool {
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
