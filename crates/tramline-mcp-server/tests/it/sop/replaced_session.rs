//! Loading a pinned procedure again: what an agent could undo that way still counts.

use super::super::support::{Client, Era, connect, over};
use super::{call_sop, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_engine::EngineOptions;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::MemoryStore;
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_mcp_server::{PinOptions, PinnedProcedure, Server, Toolset};
use tramline_planner::Services;
use tramline_workflow::failure::{Failure, FailureKind};

const DESK: &str = "---\nagent: desk\ntools: [pay, note, crash, lend]\n---\n```mermaid\nflowchart TD\n  START --> WORK[Work] --> END([End])\n```\n\
                    ## Node Prompts\n### WORK\n```yaml\ntools: [pay, note, crash, lend]\nmax_calls: {pay: 1}\n\
                    once_per: {note: args.id}\nargs: {lend: \"$count(calls.note) >= 1\"}\n```\nWork.\n";

struct SopFixture {
    server: Server,
    sent: Arc<AtomicUsize>,
}

impl SopFixture {
    async fn new(sessions_max: usize) -> Self {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let crash = move |_: Value| {
            count.fetch_add(1, Ordering::SeqCst);
            let lost = Failure::new(FailureKind::Unavailable, "the server is gone");
            async { Err(lost.after_sending()) }
        };
        let echo = |given: Value| async { Ok(given) };
        let tools = tools(Vec::new())
            .tool("t", "note", ToolHints::default(), echo)
            .tool("t", "lend", ToolHints::default(), echo)
            .tool("t", "crash", ToolHints::default(), crash);
        let store = Arc::new(MemoryStore::default());
        let services = Services::new(store, Arc::new(tools), EngineOptions::default());
        let server = over(services, &Toolset::ALL, Vec::new());
        let sop = sop_markdown::read(DESK.as_bytes(), "desk").unwrap().sop;
        let pinned = PinnedProcedure {
            location: "desk.md".into(),
            sops: vec![Arc::new(sop)],
            files: Vec::new(),
            paths: vec!["/srv/desk.md".into()],
        };
        let terms = PinOptions {
            sessions_max,
            ..PinOptions::default()
        };
        server.pin_procedures(vec![pinned], terms).await.unwrap();
        Self { server, sent }
    }
}

async fn begin(client: &Client) -> Json {
    let loaded = call_sop(client, "load_graph", json!({})).await;
    for node in ["START", "WORK"] {
        call_sop(client, "goto_node", json!({"node_id": node})).await;
    }
    loaded
}

async fn call(client: &Client, tool: &str, id: u32) -> Json {
    let call = json!({"tool": tool, "arguments": {"id": id}});
    call_sop(client, "sop_call", call).await
}

fn is_refused(reply: &Json) -> bool {
    reply.get("error").is_some()
}

#[tokio::test]
async fn a_call_in_doubt_is_not_repeated_by_loading_again() {
    for sessions_max in [1, 2] {
        let desk = SopFixture::new(sessions_max).await;
        let client = connect(&desk.server, Era::Modern).await;
        begin(&client).await;
        call(&client, "crash", 1).await;
        assert_eq!(desk.sent.load(Ordering::SeqCst), 1);
        // Each session replaces the one before it, or the second one before it.
        for _ in 0..sessions_max {
            begin(&client).await;
        }
        let in_doubt = call(&client, "crash", 1).await;
        assert!(is_refused(&in_doubt), "{in_doubt}");
        let workflow = json!({"workflow": {"tasks": [
            {"id": "a", "tool": "t:crash", "arguments": {"id": 1}, "depends_on": []},
        ]}});
        call_sop(&client, "execute_dag", workflow).await;
        assert_eq!(desk.sent.load(Ordering::SeqCst), 1);
        // Another call, or the agent's statement that it did not happen, is sent.
        call(&client, "crash", 2).await;
        assert_eq!(desk.sent.load(Ordering::SeqCst), 2);
        let again = json!({"tool": "crash", "arguments": {"id": 1}, "again": true});
        call_sop(&client, "sop_call", again).await;
        assert_eq!(desk.sent.load(Ordering::SeqCst), 3);
    }
}

#[tokio::test]
async fn counted_calls_count_after_loading_again() {
    let desk = SopFixture::new(1).await;
    let client = connect(&desk.server, Era::Modern).await;
    begin(&client).await;
    for tool in ["pay", "note"] {
        let first = call(&client, tool, 1).await;
        assert!(!is_refused(&first), "{first}");
    }
    for _ in 0..2 {
        let loaded = begin(&client).await;
        let note = loaded["note"].as_str().unwrap();
        assert!(note.contains("max_calls"), "{note}");
        for tool in ["pay", "note"] {
            let second = call(&client, tool, 1).await;
            assert!(is_refused(&second), "{tool}: {second}");
        }
    }
    // Results are not carried over: what a rule needs to know is looked up again.
    let lend = call(&client, "lend", 1).await;
    assert!(is_refused(&lend), "{lend}");
    let other = call(&client, "note", 2).await;
    assert!(!is_refused(&other), "{other}");
    let lend = call(&client, "lend", 1).await;
    assert!(!is_refused(&lend), "{lend}");
}

#[tokio::test]
async fn sessions_that_exist_side_by_side_count_their_own_calls() {
    let desk = SopFixture::new(2).await;
    let client = connect(&desk.server, Era::Modern).await;
    for turn in 0..3 {
        let loaded = begin(&client).await;
        let note = loaded["note"].as_str().unwrap_or_default();
        assert_eq!(note.contains("2 sessions"), turn == 2, "{note}");
        let paid = call(&client, "pay", 1).await;
        assert!(!is_refused(&paid), "{paid}");
    }
}
