//! The SOP toolset: replies in the shapes that agents know, small, fast, and only for their owner.

use super::support::{Client, ERAS, connect, over, services, structured};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_engine::SopStart;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_mcp_server::{Server, Toolset};
use tramline_sop::{MoveRequest, SopSession};
use tramline_workflow::failure::{Failure, FailureKind};

mod confirmation;
mod edits;
mod gate_checks;
mod nested;
mod one_session;
mod other_doors;
mod pinned;
mod replaced_session;
mod rules;
mod servers;
mod suggestions;
mod two_procedures;

/// Tools that read these files, and one that can be called.
fn tools(files: Vec<(&'static str, String)>) -> FakeTools {
    let files = Arc::new(files);
    let read = move |arguments: Value| {
        let files = Arc::clone(&files);
        async move {
            let path = arguments
                .get("path")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            let found = files.iter().find(|(name, _)| *name == path);
            let gone = || Failure::new(FailureKind::Tool, format!("there is no {path}"));
            let (_, text) = found.ok_or_else(gone)?;
            Ok(Value::object([("content", Value::from(text.as_str()))]))
        }
    };
    FakeTools::new()
        .tool("builtin", "read-file", ToolHints::default(), read)
        .tool("shop", "pay", ToolHints::default(), |given| async {
            Ok(given)
        })
}

pub(crate) fn serving(files: Vec<(&'static str, String)>) -> Server {
    over(
        services(MemoryStore::default(), tools(files)),
        &[Toolset::Sop],
        Vec::new(),
    )
}

async fn call_sop(client: &Client, tool: &str, arguments: Json) -> Json {
    structured(&client.call(tool, arguments).await).clone()
}

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sop");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

pub(crate) const DESK: &str = "---\nagent: desk\n---\n```mermaid\nflowchart TD\n  START --> PAY[Pay] --> WEEK[The week] --> END([End])\n```\n\
                    ## Node Prompts\n### PAY\n```yaml\ntools: [pay]\n```\nPay.\n### WEEK\n```yaml\nsop: sub/week.md\n```\n";
pub(crate) const WEEK: &str = "```mermaid\nflowchart TD\n  W1 --> W2([Over])\n```\n";

#[tokio::test]
async fn sessions_start_move_and_call_with_both_handshakes() {
    for era in ERAS {
        let files = vec![
            ("a/desk.md", DESK.to_owned()),
            ("a/sub/week.md", WEEK.to_owned()),
        ];
        let server = serving(files);
        let client = connect(&server, era).await;
        let early = client.call("goto_node", json!({"node_id": "START"})).await;
        assert_eq!(early.is_error, Some(true));
        let loaded = call_sop(&client, "load_graph", json!({"sop_file": "a/desk.md"})).await;
        assert_eq!(loaded["agent"], "desk");
        assert_eq!(loaded["graph"]["terminal_nodes"], json!(["END"]));
        let session = loaded["session_id"].clone();
        let off = call_sop(&client, "goto_node", json!({"node_id": "PAY"})).await;
        assert_eq!(off["valid"], false);
        assert_eq!(off["valid_next"], json!(["START"]));
        call_sop(&client, "advance", json!({"session_id": session})).await;
        let paid = call_sop(
            &client,
            "sop_call",
            json!({"tool": "pay", "arguments": {"sum": 3}}),
        )
        .await;
        assert_eq!(paid["sum"], 3);
        let inside = call_sop(&client, "goto_node", json!({"node_id": "WEEK"})).await;
        assert_eq!(inside["node"]["id"], "W1");
        assert_eq!(inside["procedure"], "week");
        let end = call_sop(&client, "advance", json!({})).await;
        assert_eq!(end["node"]["id"], "END", "{end}");
        let prompts = client.service.list_all_prompts().await.unwrap();
        assert_eq!(prompts[0].name, "desk");
        let missing = client.call("load_graph", json!({"sop_file": "b.md"})).await;
        assert!(
            structured(&missing)["error"]["message"]
                .as_str()
                .unwrap()
                .contains("there is no b.md")
        );
        let stranger = json!({"node_id": "START", "session_id": "run_nobodys"});
        assert_eq!(
            client.call("goto_node", stranger).await.is_error,
            Some(true)
        );
    }
}

#[tokio::test]
async fn replies_for_every_node_of_the_examples_are_small() {
    let tokens = tiktoken_rs::o200k_base().unwrap();
    let mut largest = (0, String::new());
    for name in [
        "retail/retail.md",
        "incident/incident.md",
        "onboarding/onboarding.md",
        "onboarding/week.md",
    ] {
        // In observe mode any node can be reached.
        let text = example(name)
            .replacen("mode: strict", "mode: observe", 1)
            .replace("mode: warn", "mode: observe");
        let text = match text.contains("mode: observe") {
            true => text,
            false => text.replacen("agent:", "mode: observe\nagent:", 1),
        };
        let text = text.replace("sop: week.md\n", "");
        let nodes = sop_markdown::read(text.as_bytes(), "x").unwrap().sop.nodes;
        let server = serving(vec![("x.md", text)]);
        let client = connect(&server, ERAS[0]).await;
        call_sop(&client, "load_graph", json!({"sop_file": "x.md"})).await;
        for node in nodes {
            let reply = call_sop(&client, "goto_node", json!({"node_id": node.id.as_str()})).await;
            assert_eq!(reply["valid"], true, "{reply}");
            // The path of a real session is as long as its procedure, not as this test.
            let mut reply = reply;
            reply["path"] = json!([
                "START",
                "AUTH",
                "GREET",
                "ROUTE",
                "CHK_MOD",
                "IS_PENDING_M",
                "MOD_TYPE",
                "COLLECT_MOD_ITEMS",
                "WARN_MOD_ITEMS",
                "DO_MOD_ITEMS",
                "TELL_MOD",
                "END_MOD"
            ]);
            let count = tokens.encode_with_special_tokens(&reply.to_string()).len();
            assert!(count < 300, "{} takes {count} tokens: {reply}", node.id);
            if count > largest.0 {
                largest = (count, node.id.to_string());
            }
        }
    }
    assert!(largest.0 > 100, "{largest:?}");
}

/// A procedure of a thousand nodes.
fn thousand() -> String {
    let mut text =
        String::from("---\nagent: thousand\n---\n```mermaid\nflowchart TD\n  START --> N0\n");
    for at in 0..998 {
        writeln!(text, "  N{at}[\"Step number {at}\"] -->|on| N{}", at + 1).unwrap();
    }
    text + "```\n"
}

#[tokio::test]
async fn a_move_in_a_large_procedure_is_quick() {
    let read = sop_markdown::read(thousand().as_bytes(), "x").unwrap();
    let services = services(MemoryStore::default(), FakeTools::new());
    let guide = SopStart {
        sops: vec![Arc::new(read.sop)],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
        by: None,
        ttl_ms: None,
        pinned: None,
    };
    let id = services.engine.start_sop_session(guide).await.unwrap();
    let go = async |node: String| {
        let ask = MoveRequest {
            node: Some(node.into()),
            ..MoveRequest::default()
        };
        let decide = |walk: &SopSession| tramline_sop::move_to(walk, &ask);
        let moved = services
            .engine
            .update_sop_session(&id, decide, |walk, turn| {
                (walk.current_node_id().cloned(), turn.refusal.clone())
            });
        let (at, refusal) = moved.await.unwrap();
        assert!(refusal.is_none(), "{refusal:?}");
        at
    };
    go("START".to_owned()).await;
    let begun = Instant::now();
    for at in 0..999 {
        go(format!("N{at}")).await;
    }
    let each = begun.elapsed() / 999;
    // Without optimization and on a busy machine; the product's target is 100 µs.
    assert!(each < Duration::from_micros(1_000), "{each:?} for one move");
}
