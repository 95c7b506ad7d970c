//! Calls of runs under a pinned procedure: checked before a person is asked and again when they are sent, and
//! not repeated if they may have happened.

use super::super::support::{Era, connect};
use super::call_sop;
use super::pinned::{PinnedFixture, dag, move_to};
use serde_json::json;
use tramline_expr::Value;
use tramline_workflow::ids::{RunId, ToolName};

/// A person is not asked about a call that the gate would reject, and the gate is checked again when an
/// approved call is sent.
#[tokio::test]
async fn the_gate_is_asked_before_a_person_and_again_after() {
    let place = PinnedFixture::default();
    let (services, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let asks = |tool: &str| json!({"workflow": {"tasks": [{"id": "a", "tool": tool, "arguments": {"sum": 7}, "approval": true}]}});
    call_sop(&client, "load_graph", json!({})).await;
    call_sop(&client, "advance", json!({})).await;
    // Asked by the document's approval, and by the destructive annotation.
    for (task, node) in [(asks("t:pay"), "PAY"), (dag("t:wipe"), "t:wipe")] {
        let told = call_sop(&client, "execute_dag", task).await;
        assert_eq!(told["results"][0]["status"], "error", "{told}");
        assert!(told.to_string().contains(node), "{told}");
    }
    let batch = json!({"nodes": [{"id": "a", "type": "mcp-t-wipe", "params": {"x": "${item}"}, "batch": {"items": [1, 2]}}], "edges": []});
    let told = call_sop(&client, "workflow_execute", json!({"workflow": batch})).await;
    assert_ne!(told["data"]["status"], "paused", "{told}");
    move_to(&client, "PAY").await;
    let waits = call_sop(&client, "execute_dag", asks("t:pay")).await;
    assert_eq!(waits["status"], "approval_required", "{waits}");
    // The session moves on before the question is answered.
    call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
    let yes = json!({"workflow_id": waits["workflow_id"], "checkpoint_id": waits["checkpoint_id"], "approved": true});
    let told = call_sop(&client, "approval_response", yes).await;
    assert_eq!(told["results"][0]["status"], "error", "{told}");
    assert_eq!(place.paid(), 0);
    let run = waits["workflow_id"].as_str().unwrap().parse().unwrap();
    let asked = services
        .engine
        .load(&run)
        .await
        .unwrap()
        .run
        .started
        .agent
        .clone();
    assert!(asked.unwrap().gated);
}

/// A call that was sent with `sop_call` and may have happened is not repeated by a run.
#[tokio::test]
async fn a_run_does_not_repeat_a_call_of_the_session_that_is_in_doubt() {
    let place = PinnedFixture::default();
    let (services, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let id: RunId = move_to(&client, "PAY")
        .await
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    // The journal of a process that dies during the call.
    let pass = tramline_sop::CallRequest {
        tool: ToolName::new("t", "pay"),
        arguments: Value::object([("sum", 7.into())]),
        written: None,
        repeats: None,
        confirmed: None,
        approval_run: None,
        requires_approval: false,
        bare_name_differs: false,
        step: None,
        upstream: None,
    };
    let announce = |walk: &tramline_sop::SopSession| tramline_sop::check_call(walk, pass.clone());
    services
        .engine
        .update_sop_session(&id, announce, |_, _| ())
        .await
        .unwrap();
    for (tool, arguments) in [
        ("execute_dag", dag("t:pay")),
        (
            "sop_call",
            json!({"tool": "t:pay", "arguments": {"sum": 7}}),
        ),
    ] {
        let told = call_sop(&client, tool, arguments).await.to_string();
        assert!(told.contains("result is unknown"), "{told}");
        assert_eq!(place.paid(), 0, "{tool}");
    }
    let again = json!({"tool": "t:pay", "arguments": {"sum": 7}, "again": true});
    call_sop(&client, "sop_call", again).await;
    assert_eq!(place.paid(), 1);
}
