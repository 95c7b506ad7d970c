//! The memory and disk use of sessions on a large procedure: they share one copy of it.

use super::Shop;
use crate::control::post;
use crate::test_servers::Http;
use serde_json::json;
use std::fmt::Write as _;

/// More than any cache of parsed procedures.
const CONVERSATIONS: usize = 100;
/// How many nodes the procedure has.
const NODES: usize = 1_000;
/// A tenth of what a thousand sessions may take, and as much again for what the allocator retains,
/// in bytes. A copy of the procedure for each would be ten times as much.
const MEMORY_BYTES_MAX: u64 = 8_000_000;
/// A tenth of what a thousand sessions may take on disk, with the log, in bytes.
const DISK_BYTES_MAX: u64 = 6_000_000;

fn procedure() -> String {
    let mut text =
        String::from("---\nagent: long\n---\n## SOP Flowchart\n```mermaid\nflowchart TD\n");
    for at in 1..NODES {
        let _ = writeln!(text, "    N{}[Step] --> N{at}[Step]", at - 1);
    }
    text.push_str("```\n\n## Node Prompts\n");
    for at in 0..NODES {
        let words = "Read this before you go on, and ask if it is unclear. ".repeat(3);
        let _ = writeln!(text, "### N{at}\n{words}\n");
    }
    text
}

#[test]
fn conversations_do_not_each_hold_their_procedure() {
    let shop = Shop::new();
    std::fs::write(shop.file("long.md"), procedure()).unwrap();
    let server = Http::start(shop.command(&[]));
    let file = shop.file("long.md").display().to_string();
    let begin = || {
        let call = json!({"name": "load_graph", "arguments": {"sop_file": file}});
        let loaded = post(&server, &call, None);
        assert!(loaded["session_id"].is_string(), "{loaded}");
    };
    // The peak of parsing it is only paid once.
    (0..10).for_each(|_| begin());
    let before = server.resident_bytes();
    (0..CONVERSATIONS).for_each(|_| begin());
    if let (Some(before), Some(after)) = (before, server.resident_bytes()) {
        let more = after.saturating_sub(before);
        assert!(more < MEMORY_BYTES_MAX, "{more} bytes more");
    }
    let files = ["tramline.db", "tramline.db-wal"].map(|name| shop.place.data_dir().join(name));
    let disk: u64 = files
        .iter()
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum();
    assert!(disk < DISK_BYTES_MAX, "{disk} bytes on disk");
}
