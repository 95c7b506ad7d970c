//! Decisions: approvals, budgets, calls in doubt, and client forms.

use super::{ControlFixture, call, call_rejected, layered};
use crate::support::{ERAS, Era, connect, connect_with, filled, forms, over, structured};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::ports::Callable;
use tramline_engine::{EngineOptions, ToolPattern, ToolPolicy, WorkflowMap};
use tramline_expr::Value;
use tramline_mcp_server::Toolset;
use tramline_planner::Services;

fn risky() -> Json {
    json!({"tasks": [
        {"id": "look", "tool": "t:echo", "arguments": {"table": "users"}},
        {"id": "wipe", "tool": "t:drop", "arguments": {"table": "users"}, "depends_on": ["look"]},
        {"id": "say", "tool": "t:echo", "depends_on": ["wipe"]}
    ]})
}

fn reply(asked: &Json, approved: bool) -> Json {
    json!({
        "workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"],
        "approved": approved, "feedback": if approved { "" } else { "too risky" }
    })
}

#[tokio::test]
async fn what_destroys_is_asked_about_and_goes_on_in_another_process() {
    for era in ERAS {
        let place = ControlFixture::new();
        let client = place.client(era).await;
        let asked = call(&client, "execute_dag", json!({"workflow": risky()})).await;
        assert_eq!(asked["status"], "approval_required", "{asked}");
        assert_eq!(asked["checkpoint_type"], "approval_required");
        assert!(
            asked["decision_context"]
                .as_str()
                .unwrap()
                .contains("destructive")
        );
        assert_eq!(
            (&asked["task_id"], &asked["tool"]),
            (&json!("wipe"), &json!("t:drop"))
        );
        assert_eq!(asked["arguments"], json!({"table": "users"}));
        let error = call_rejected(
            &client,
            "continue",
            json!({"workflow_id": asked["workflow_id"]}),
        )
        .await;
        assert_eq!(error["data"]["checkpoint_id"], asked["checkpoint_id"]);
        let client = place.client(era).await;
        let done = call(&client, "approval_response", reply(&asked, true)).await;
        assert_eq!(done["status"], "complete");
        let late = call_rejected(&client, "approval_response", reply(&asked, false)).await;
        assert_eq!(late["code"], -32602);
    }
}

#[tokio::test]
async fn a_no_ends_it_with_what_there_is() {
    let place = ControlFixture::new();
    let client = place.client(Era::Legacy).await;
    let first = call(&client, "execute_dag", layered(risky())).await;
    let asked = call(
        &client,
        "continue",
        json!({"workflow_id": first["workflow_id"]}),
    )
    .await;
    assert_eq!(asked["status"], "layer_complete");
    let stale = json!({"workflow_id": first["workflow_id"], "checkpoint_id": first["checkpoint_id"], "approved": true});
    let stale = call_rejected(&client, "approval_response", stale).await;
    assert_eq!(
        stale["data"]["checkpoint_id"], asked["checkpoint_id"],
        "{stale}"
    );
    let client = place.client(Era::Modern).await;
    let no = call(&client, "approval_response", reply(&asked, false)).await;
    assert_eq!(no["status"], "rejected");
    assert_eq!(
        (&no["checkpoint_id"], &no["feedback"]),
        (&asked["checkpoint_id"], &json!("too risky"))
    );
    assert_eq!(no["partial_results"][0]["task_id"], "look");
}

#[tokio::test]
async fn a_client_with_forms_is_asked() {
    for era in ERAS {
        let server = ControlFixture::new().server();
        let client = connect_with(&server, era, forms()).await;
        client.queue_answer(filled(json!({"decision": "approve"})));
        let done = call(&client, "execute_dag", json!({"workflow": risky()})).await;
        assert_eq!(done["status"], "complete", "{era:?}");
        // The agent reviews the layer; only the decision goes to the user.
        let first = call(&client, "execute_dag", layered(risky())).await;
        assert_eq!(first["status"], "layer_complete");
        client.queue_answer(filled(json!({"decision": "reject", "reason": "no"})));
        let no = call(
            &client,
            "continue",
            json!({"workflow_id": first["workflow_id"]}),
        )
        .await;
        assert_eq!(
            (&no["status"], &no["feedback"]),
            (&json!("rejected"), &json!("no")),
            "{era:?}"
        );
    }
}

#[tokio::test]
async fn a_budget_is_asked_about_and_extended() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let arguments = json!({"workflow": super::diamond(), "budget": {"calls": 2}});
    let asked = call(&client, "execute_dag", arguments).await;
    assert_eq!(asked["status"], "budget_exceeded", "{asked}");
    assert_eq!(
        (&asked["spent"], &asked["limit"]),
        (&json!("calls"), &json!(2))
    );
    let mut more = reply(&asked, true);
    more["answer"] = json!("extend");
    more["budget"] = json!({"calls": 1});
    let again = call(&client, "approval_response", more).await;
    assert_eq!(again["status"], "budget_exceeded");
    let done = call(&client, "approval_response", reply(&again, true)).await;
    assert_eq!(done["status"], "complete");
    let wrong = json!({"workflow": super::diamond(), "budget": {"cals": 2}});
    assert_eq!(
        call_rejected(&client, "execute_dag", wrong).await["code"],
        -32602
    );
}

#[tokio::test]
async fn a_call_in_doubt_is_retried_or_skipped_with_an_output() {
    for (answer, output) in [("retry", Json::Null), ("skip", json!({"id": 9}))] {
        let place = ControlFixture::new();
        let dag = json!({"workflow": [
            {"id": "act", "tool": "t:hold", "arguments": {"id": 1}, "idempotent": false, "readOnly": false},
            {"id": "then", "tool": "t:echo", "arguments": {"got": "$OUTPUT[act].id"}}
        ]});
        let id = super::racing::die_while_held(&place, dag).await;
        let client = place.client(Era::Legacy).await;
        let asked = call(&client, "continue", json!({"workflow_id": id})).await;
        assert_eq!(asked["status"], "in_doubt", "{asked}");
        assert_eq!(asked["arguments"], json!({"id": 1}));
        let vague = call_rejected(&client, "approval_response", reply(&asked, true)).await;
        assert!(
            vague["message"].as_str().unwrap().contains("retry"),
            "{vague}"
        );
        // One permit is for the call of the process that died.
        place.gate.add_permits(2);
        let mut decided = reply(&asked, true);
        decided["answer"] = json!(answer);
        decided["output"] = output.clone();
        let done = call(&client, "approval_response", decided).await;
        assert_eq!(done["status"], "complete", "{done}");
        let expected = if answer == "skip" { 9 } else { 1 };
        assert_eq!(done["results"][1]["output"], json!({"got": expected}));
    }
}

#[tokio::test]
async fn a_task_that_says_so_is_asked_about() {
    let client = ControlFixture::new().client(Era::Legacy).await;
    let dag = json!({"workflow": [{"id": "a", "tool": "t:echo", "approval": "it costs money"}]});
    let result = client.call("execute_dag", dag).await;
    let asked = structured(&result);
    assert!(
        asked["decision_context"]
            .as_str()
            .unwrap()
            .contains("it costs money"),
        "{asked}"
    );
}

/// A workflow whose only task calls `t:drop`.
const PAY: &str = r#"
version: "1.0"
server: {name: g, version: "1"}
tools:
  - name: pay
    description: Pays
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: d}
      - {id: d, type: mcp, server: t, tool: drop, args: {to: ada}, next: exit}
      - {id: exit, type: exit}
"#;

#[tokio::test]
async fn a_workflow_that_waits_for_a_called_one_shows_its_question() {
    let place = ControlFixture::new();
    let read = tramline_formats::yaml_graph::read_with(PAY.as_bytes(), &["t".into()]);
    let shelf = read.unwrap().workflows.into_iter().map(|graph| Callable {
        graph,
        origin: Value::Null,
    });
    let options = EngineOptions {
        policy: ToolPolicy {
            ask: vec![ToolPattern::parse("t:drop").unwrap()],
            deny: vec![],
        },
        ..EngineOptions::default()
    };
    let services = Services::with_workflows(
        Arc::new(place.store.process()),
        Arc::new(place.tools()),
        Arc::new(WorkflowMap::new(shelf)),
        options,
    );
    let toolsets = [Toolset::Control, Toolset::Debug, Toolset::Library];
    let client = connect(&over(services, &toolsets, vec![]), Era::Modern).await;
    let dag =
        json!({"workflow": {"tasks": [{"id": "a", "tool": "workflow:pay", "arguments": {}}]}});
    let asked = call(&client, "execute_dag", dag).await;
    assert_eq!(asked["status"], "child_waiting", "{asked}");
    assert_eq!(asked["checkpoint_type"], "child_waiting");
    let question = &asked["child"]["waiting"][0];
    assert_eq!(question["source"], "policy", "{asked}");
    assert_eq!(question["answered_by"], "person");
    assert_eq!(question["call"]["tool"], "t:drop");
    assert_eq!(question["call"]["arguments"], json!({"to": "ada"}));
    // A plain yes is not an answer; the error names the run that asks.
    let yes = json!({
        "workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"],
        "approved": true,
    });
    let error = call_rejected(&client, "approval_response", yes).await;
    let child = asked["child"]["run_id"].as_str().unwrap();
    assert!(
        error["message"].as_str().unwrap().contains(child),
        "{error}"
    );
    // The same question, wherever the run is read.
    let run = json!({"run_id": asked["workflow_id"]});
    let read = call(&client, "run_read", run).await;
    let shown = &read["waiting"][0]["child"]["waiting"][0];
    assert_eq!(shown["checkpoint_id"], question["checkpoint_id"]);
    // Who takes another result ends the called run: its question cannot be approved any more.
    let skip = json!({
        "workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"],
        "approved": true, "answer": "skip", "output": {"ok": 1},
    });
    let done = call(&client, "approval_response", skip).await;
    assert_eq!(done["status"], "complete", "{done}");
    let ended = call(&client, "run_read", json!({"run_id": child})).await;
    assert_eq!(ended["status"], "aborted", "{ended}");
}

#[tokio::test]
async fn a_replanned_workflow_that_waits_for_approval_names_approval_response() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let asked = call(&client, "execute_dag", json!({"workflow": risky()})).await;
    assert_eq!(asked["status"], "approval_required", "{asked}");
    assert_eq!(asked["call"]["server"], "t", "{asked}");
    let added = json!({
        "workflow_id": asked["workflow_id"], "new_requirement": "r",
        "new_tasks": [{"id": "x", "tool": "t:echo"}],
    });
    let grown = call(&client, "replan", added).await;
    assert_eq!(grown["options"], json!(["approval_response", "abort"]));
    assert_eq!(grown["checkpoint_id"], asked["checkpoint_id"]);
    assert_eq!(grown["checkpoint_type"], "approval_required");
}
