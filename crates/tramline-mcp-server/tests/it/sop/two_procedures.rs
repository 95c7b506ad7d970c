//! Two pinned procedures: one that only observes does not open the tools of the other.

use super::super::support::{Era, connect};
use super::call_sop;
use super::pinned::{BANK, PinnedFixture, bank, dag, move_to};
use serde_json::json;
use std::sync::Arc;
use tramline_formats::sop_markdown;
use tramline_mcp_server::{PinOptions, PinnedProcedure};

fn faq(mode: &str) -> PinnedProcedure {
    let text = format!(
        "---\nagent: faq\n{mode}---\n```mermaid\nflowchart TD\n  START --> ANSWER([Answer])\n```\n"
    );
    PinnedProcedure {
        location: "faq.md".into(),
        sops: vec![Arc::new(
            sop_markdown::read(text.as_bytes(), "faq").unwrap().sop,
        )],
        files: Vec::new(),
        paths: vec!["/srv/faq.md".into()],
    }
}

#[tokio::test]
async fn a_procedure_that_rejects_nothing_does_not_open_the_tools_of_a_strict_one() {
    for mode in ["mode: observe\n", "mode: warn\n", "enforce_tools: false\n"] {
        let place = PinnedFixture::default();
        let (_, server) = place
            .serve_with(&[&bank(BANK), &faq(mode)], PinOptions::default())
            .await;
        let client = connect(&server, Era::Modern).await;
        call_sop(&client, "load_graph", json!({"sop_file": "faq"})).await;
        let pay = json!({"tool": "t:pay", "arguments": {"sum": 1}});
        let refused = call_sop(&client, "sop_call", pay.clone()).await;
        assert!(refused.to_string().contains("session of bank"), "{refused}");
        let run = call_sop(&client, "execute_dag", dag("t:pay")).await;
        assert!(run.to_string().contains("session of bank"), "{run}");
        assert_eq!(place.paid(), 0, "{mode}");
        // What the strict procedure does not name stays open where nothing is rejected.
        let note = json!({"tool": "free:note", "arguments": {}});
        let noted = call_sop(&client, "sop_call", note).await;
        assert!(noted.get("error").is_none(), "{noted}");
        let loaded = call_sop(&client, "load_graph", json!({"sop_file": "bank"})).await;
        assert_eq!(loaded["agent"], "bank", "{loaded}");
        call_sop(&client, "advance", json!({})).await;
        let who = json!({"tool": "identify", "arguments": {}});
        call_sop(&client, "sop_call", who).await;
        for node in ["ROUTE", "PAY"] {
            call_sop(&client, "goto_node", json!({"node_id": node})).await;
        }
        call_sop(&client, "sop_call", pay).await;
        let run = call_sop(&client, "execute_dag", dag("t:pay")).await;
        assert_eq!(run["status"], "complete", "{run}");
        assert_eq!(place.paid(), 2, "{mode}");
    }
}

#[tokio::test]
async fn an_exempt_tool_can_be_called_at_any_node() {
    let place = PinnedFixture::default();
    let terms = PinOptions {
        ungated: vec!["free:*".parse().unwrap()],
        ..PinOptions::default()
    };
    let (_, server) = place.serve_with(&[&bank(BANK)], terms).await;
    let client = connect(&server, Era::Modern).await;
    move_to(&client, "PAY").await;
    let note = json!({"tool": "free:note", "arguments": {"text": "hi"}});
    let noted = call_sop(&client, "sop_call", note).await;
    assert_eq!(noted["text"], "hi", "{noted}");
    let wipe = json!({"tool": "wipe", "arguments": {}});
    let refused = call_sop(&client, "sop_call", wipe).await;
    assert!(refused.get("error").is_some(), "{refused}");
}
