//! Thousands of tools of fifty servers: listed from the cache, quickly and in little memory.

use super::said;
use crate::support::Tramline;
use crate::test_servers::{StdioClient, serve};
use serde_json::json;
use std::time::Instant;

const SERVERS: usize = 50;
const TOOLS: usize = 100;
const BYTES_MAX: u64 = 200 << 20;

/// Fifty servers that are never started: an earlier process cached their tools.
#[test]
fn five_thousand_tools_are_listed_cold_within_bounds() {
    let tramline = Tramline::new();
    let dir = tempfile::tempdir().unwrap();
    let mut servers = serde_json::Map::new();
    for n in 0..SERVERS {
        let entry = json!({"command": "no-such-program", "args": [n.to_string()]});
        servers.insert(format!("server{n:02}"), entry);
    }
    let config = dir.path().join("mcp.json");
    std::fs::write(&config, json!({"mcpServers": servers}).to_string()).unwrap();
    keep(&tramline, &servers);

    let mut command = serve(&[], &tramline.data_dir());
    command
        .args(["--toolsets", "library", "--mcp-config"])
        .arg(&config);
    let child = super::piped(&mut command);
    let pid = child.id();
    let mut talk = StdioClient::start(child);
    let began = Instant::now();
    let listed = said(&mut talk, "registry_list", json!({}));
    let took = began.elapsed();
    let count = listed["data"]["count"].as_u64().unwrap();
    assert!(count >= (SERVERS * TOOLS) as u64, "{count}");
    assert!(
        listed["data"]["unreachable"].is_null(),
        "{}",
        listed["data"]["unreachable"]
    );
    // The first search builds the index, the second uses it.
    let mut search = || {
        let began = Instant::now();
        let task = json!({"task": "send invoice 42 of customer 42"});
        let found = said(&mut talk, "registry_discover", task);
        let first = found["data"]["nodes"][0]["node_type"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(first.ends_with(":send_invoice_42"), "{found}");
        began.elapsed()
    };
    let (indexed, searched) = (search(), search());
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let bytes = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024;
    println!(
        "listed in {took:?}, indexed in {indexed:?}, searched in {searched:?}, {} MB at most",
        bytes >> 20
    );
    assert!(bytes < BYTES_MAX, "{bytes} bytes");
    // Limits for an unoptimized build on a busy machine.
    assert!(
        took.as_secs() < 20 && indexed.as_secs() < 20,
        "{took:?} {indexed:?}"
    );
    assert!(searched.as_secs() < 5, "{searched:?}");
    talk.close();
}

/// Caches the tools as a process does that has connected every server.
fn keep(tramline: &Tramline, servers: &serde_json::Map<String, serde_json::Value>) {
    use tramline::engine::ports::DocumentStore as _;
    let store = tramline::store::Sqlite::open(&tramline.data_dir()).unwrap();
    let config = json!({"mcpServers": servers});
    let read = tramline::mcp_client::config::read(&config.into()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for server in read {
        let tools: Vec<_> = (0..TOOLS).map(|n| described(&server.name, n)).collect();
        let body = json!({"print": server.fingerprint(), "tools": tools}).to_string();
        runtime
            .block_on(store.put("registry", &server.name, body.into_bytes()))
            .unwrap();
    }
}

/// A tool of realistic size.
fn described(server: &str, n: usize) -> serde_json::Value {
    let field = |name: &str| json!({"type": "string", "description": format!("The {name} that invoice {n} of {server} is about, as it was given.")});
    json!({
        "name": format!("send_invoice_{n}"),
        "description": format!("Sends invoice {n} of customer {n} through {server}. Use it when a customer asks for a copy, and give the reason; the answer tells whether it was sent and when."),
        "input": {"type": "object", "properties": {"customer": field("customer"), "reason": field("reason"), "copy": {"type": "boolean"}, "lines": {"type": "array", "items": {"type": "object", "properties": {"article": field("article"), "count": {"type": "integer"}}}}}, "required": ["customer"]},
        "output": {"type": "object", "properties": {"sent": {"type": "boolean"}, "at": field("moment")}},
        "hints": [false, false, null, true],
    })
}
