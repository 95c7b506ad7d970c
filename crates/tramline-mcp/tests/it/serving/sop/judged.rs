//! Calls of runs along a pinned procedure: judged before a person is asked, when they leave, and not repeated
//! where they may have happened.

use super::super::support::{Era, connect};
use super::pinned::{Place, dag, walk_to};
use super::say;
use serde_json::json;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::{Value, navigate};

/// A person is not asked about a call that the gate would refuse, and the gate is asked again when an
/// agreed call leaves.
#[tokio::test]
async fn the_gate_is_asked_before_a_person_and_again_after() {
    let place = Place::default();
    let (engine, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let asks = |tool: &str| json!({"workflow": {"tasks": [{"id": "a", "tool": tool, "arguments": {"sum": 7}, "approval": true}]}});
    say(&client, "load_graph", json!({})).await;
    say(&client, "advance", json!({})).await;
    // By the document's own question, and by the annotation of what destroys.
    for (task, node) in [(asks("t:pay"), "PAY"), (dag("t:wipe"), "t:wipe")] {
        let told = say(&client, "execute_dag", task).await;
        assert_eq!(told["results"][0]["status"], "error", "{told}");
        assert!(told.to_string().contains(node), "{told}");
    }
    let batch = json!({"nodes": [{"id": "a", "type": "mcp-t-wipe", "params": {"x": "${item}"}, "batch": {"items": [1, 2]}}], "edges": []});
    let told = say(&client, "workflow_execute", json!({"workflow": batch})).await;
    assert_ne!(told["data"]["status"], "paused", "{told}");
    walk_to(&client, "PAY").await;
    let waits = say(&client, "execute_dag", asks("t:pay")).await;
    assert_eq!(waits["status"], "approval_required", "{waits}");
    // The conversation moves on before anybody answers.
    say(&client, "goto_node", json!({"node_id": "END"})).await;
    let yes = json!({"workflow_id": waits["workflow_id"], "checkpoint_id": waits["checkpoint_id"], "approved": true});
    let told = say(&client, "approval_response", yes).await;
    assert_eq!(told["results"][0]["status"], "error", "{told}");
    assert_eq!(place.paid(), 0);
    let run = waits["workflow_id"].as_str().unwrap().parse().unwrap();
    let asked = engine.load(&run).await.unwrap().run.started.agent.clone();
    assert!(asked.unwrap().gated);
}

/// A call that left by `sop_call` and may have happened is not repeated by a run.
#[tokio::test]
async fn a_run_does_not_repeat_a_call_of_the_conversation_that_is_in_doubt() {
    let place = Place::default();
    let (engine, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let id: RunId = walk_to(&client, "PAY")
        .await
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    // As a process leaves it that dies while the call is under way.
    let pass = navigate::Pass {
        tool: ToolName::new("t", "pay"),
        arguments: Value::object([("sum", 7.into())]),
        confirmed: None,
        asked_in: None,
        asks: false,
        is_other: false,
        step: None,
        upstream: None,
    };
    let announce = |walk: &navigate::Walk| navigate::call(walk, pass.clone());
    engine.navigate(&id, announce, |_, _| ()).await.unwrap();
    for (tool, arguments) in [
        ("execute_dag", dag("t:pay")),
        (
            "sop_call",
            json!({"tool": "t:pay", "arguments": {"sum": 7}}),
        ),
    ] {
        let told = say(&client, tool, arguments).await.to_string();
        assert!(told.contains("nobody knows whether it happened"), "{told}");
        assert_eq!(place.paid(), 0, "{tool}");
    }
    let again = json!({"tool": "t:pay", "arguments": {"sum": 7}, "again": true});
    say(&client, "sop_call", again).await;
    assert_eq!(place.paid(), 1);
}
