//! Decisions: approvals, budgets, calls in doubt, and forms that a client shows.

use super::{Place, call, layered, refused};
use crate::serving::support::{ERAS, Era, connect_with, filled, forms, structured};
use serde_json::{Value as Json, json};

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
        let place = Place::new();
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
        let error = refused(
            &client,
            "continue",
            json!({"workflow_id": asked["workflow_id"]}),
        )
        .await;
        assert_eq!(error["data"]["checkpoint_id"], asked["checkpoint_id"]);
        let client = place.client(era).await;
        let done = call(&client, "approval_response", reply(&asked, true)).await;
        assert_eq!(done["status"], "complete");
        let late = refused(&client, "approval_response", reply(&asked, false)).await;
        assert_eq!(late["code"], -32602);
    }
}

#[tokio::test]
async fn a_no_ends_it_with_what_there_is() {
    let place = Place::new();
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
    let stale = refused(&client, "approval_response", stale).await;
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
        let server = Place::new().server();
        let client = connect_with(&server, era, forms()).await;
        client.will_say(filled(json!({"decision": "approve"})));
        let done = call(&client, "execute_dag", json!({"workflow": risky()})).await;
        assert_eq!(done["status"], "complete", "{era:?}");
        // The layer is the agent's to look at; only the decision is the user's.
        let first = call(&client, "execute_dag", layered(risky())).await;
        assert_eq!(first["status"], "layer_complete");
        client.will_say(filled(json!({"decision": "reject", "reason": "no"})));
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
    let client = Place::new().client(Era::Modern).await;
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
    assert_eq!(refused(&client, "execute_dag", wrong).await["code"], -32602);
}

#[tokio::test]
async fn a_call_in_doubt_is_retried_or_skipped_with_an_output() {
    for (answer, output) in [("retry", Json::Null), ("skip", json!({"id": 9}))] {
        let place = Place::new();
        let dag = json!({"workflow": [
            {"id": "act", "tool": "t:hold", "arguments": {"id": 1}, "idempotent": false, "readOnly": false},
            {"id": "then", "tool": "t:echo", "arguments": {"got": "$OUTPUT[act].id"}}
        ]});
        let id = super::racing::die_while_held(&place, dag).await;
        let client = place.client(Era::Legacy).await;
        let asked = call(&client, "continue", json!({"workflow_id": id})).await;
        assert_eq!(asked["status"], "in_doubt", "{asked}");
        assert_eq!(asked["arguments"], json!({"id": 1}));
        let vague = refused(&client, "approval_response", reply(&asked, true)).await;
        assert!(
            vague["message"].as_str().unwrap().contains("retry"),
            "{vague}"
        );
        // One is for the call of the process that died.
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
    let client = Place::new().client(Era::Legacy).await;
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
