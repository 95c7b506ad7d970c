//! Many clients at once over HTTP, each calling as fast as it is answered.

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// So many clients call at once.
pub(crate) const CLIENTS: usize = 64;

/// Ends a server.
pub(crate) fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Starts a server and reads where it listens from the first line it says.
pub(crate) fn listening(
    mut command: Command,
    said: impl FnOnce(&mut Child) -> Option<Box<dyn Read>>,
) -> Result<(Child, SocketAddr)> {
    let mut child = command.spawn()?;
    let mut line = String::new();
    BufReader::new(said(&mut child).context("its words")?).read_line(&mut line)?;
    let address = line.trim().rsplit("http://").next().unwrap_or_default();
    let address = address.trim_end_matches("/mcp").parse();
    Ok((
        child,
        address.with_context(|| format!("where it listens: {line}"))?,
    ))
}

/// What came of it.
pub(crate) struct Storm {
    /// Calls a second.
    pub(crate) rate: f64,
    /// Half of the calls took no longer, in milliseconds.
    pub(crate) half: f64,
    /// So did 99 of 100.
    pub(crate) most: f64,
}

/// Every client calls as fast as it is answered.
pub(crate) fn storm(address: SocketAddr, tool: &'static str, calls: usize) -> Result<Storm> {
    // A first call, so that nothing is started while time is taken.
    client(address, tool, 1)?;
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| std::thread::spawn(move || client(address, tool, calls)))
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
    })
}

fn client(address: SocketAddr, tool: &str, calls: usize) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": {"n": 1}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (mut heard, mut part) = (Vec::new(), [0; 8192]);
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let began = Instant::now();
        stream.write_all(request.as_bytes())?;
        heard.clear();
        while !whole(&heard) {
            let count = stream.read(&mut part)?;
            ensure!(
                count > 0,
                "cut off after {}",
                String::from_utf8_lossy(&heard)
            );
            heard.extend_from_slice(&part[..count]);
        }
        times.push(began.elapsed());
        ensure!(
            heard
                .windows(20)
                .any(|text| text == b"structuredContent\":{"),
            "{}",
            String::from_utf8_lossy(&heard)
        );
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
