//! Procedures inside a pinned one: loading one by itself loosens nothing.

use super::super::support::{Era, connect};
use super::call_sop;
use super::pinned::{PinnedFixture, dag};
use serde_json::json;
use std::sync::Arc;
use tramline_formats::sop_markdown;
use tramline_mcp_server::{PinOptions, PinnedProcedure};

/// A procedure whose node SUB, behind a decision, enters another that may pay.
fn pinned(outer: &str, check: &str, door: &str, inner: &str) -> PinnedProcedure {
    let outer = format!(
        "---\nagent: outer\nmcp_servers: [{{name: t}}]\n{outer}---\n```mermaid\nflowchart TD\n  START --> CHECK{{Ok?}}\n  CHECK -->|yes| SUB[Sub] --> END([End])\n\
         CHECK -->|no| DENY([No])\n```\n## Node Prompts\n### CHECK\n```yaml\ntools: [look]\n{check}```\nCheck.\n\
         ### SUB\n```yaml\nsop: inner.md\n{door}```\n"
    );
    let inner = format!(
        "---\nagent: inner\n{inner}---\n```mermaid\nflowchart TD\n  IN --> PAY[Pay] --> OUT([Out])\n```\n\
         ## Node Prompts\n### PAY\n```yaml\ntools: [pay]\n```\nPay.\n"
    );
    let read = |text: &str| Arc::new(sop_markdown::read(text.as_bytes(), "x").unwrap().sop);
    PinnedProcedure {
        location: "outer.md".into(),
        sops: vec![read(&outer), read(&inner)],
        files: vec!["inner.md".into()],
        paths: vec!["/srv/outer.md".into(), "/srv/inner.md".into()],
    }
}

#[tokio::test]
async fn a_procedure_inside_is_not_loaded_past_rules_guards_and_approval() {
    let guards = "guards: {\"yes\": results.look.days >= 7, \"no\": results.look.days < 7}\n";
    let rules = "tools: [pay]\nrules: {pay: {args: args.sum <= 10, max_calls: 1}}\n";
    for (outer, check, door, reason) in [
        (rules, "", "", "rules of outer"),
        ("", guards, "", "guards"),
        ("", "", "confirm: true\n", "approves"),
        ("", "", "args: {pay: args.sum <= 10}\n", "rules of SUB"),
    ] {
        let procedure = pinned(outer, check, door, "");
        let place = PinnedFixture::default();
        let (_, server) = place.serve_with(&[&procedure], PinOptions::default()).await;
        let client = connect(&server, Era::Modern).await;
        let reply = client
            .call("load_graph", json!({"sop_file": "inner"}))
            .await;
        assert_eq!(reply.is_error, Some(true), "{reason}: {reply:?}");
        let text = serde_json::to_string(&reply).unwrap();
        assert!(text.contains(reason), "{text}");
        assert!(text.contains("load outer"), "{text}");
    }
}

#[tokio::test]
async fn a_procedure_inside_is_enforced_like_the_pinned_one() {
    for lax in ["mode: warn\n", "mode: observe\n", "enforce_tools: false\n"] {
        let procedure = pinned("", "", "", lax);
        let place = PinnedFixture::default();
        let (_, server) = place.serve_with(&[&procedure], PinOptions::default()).await;
        let client = connect(&server, Era::Modern).await;
        let loaded = call_sop(&client, "load_graph", json!({"sop_file": "inner"})).await;
        assert_eq!(loaded["agent"], "inner", "{loaded}");
        let pay = json!({"tool": "pay", "arguments": {"sum": 5000}});
        let refused = call_sop(&client, "sop_call", pay.clone()).await;
        assert!(refused.get("error").is_some(), "{lax}: {refused}");
        call_sop(&client, "execute_dag", dag("t:pay")).await;
        assert_eq!(place.paid(), 0, "{lax}");
        for node in ["IN", "PAY"] {
            call_sop(&client, "goto_node", json!({"node_id": node})).await;
        }
        call_sop(&client, "sop_call", pay).await;
        assert_eq!(place.paid(), 1, "{lax}");
    }
}
