//! What cannot be run: said whole, before anything happens.

use super::{Place, call, diamond, layered, refused};
use crate::serving::support::Era;
use serde_json::json;

#[tokio::test]
async fn what_is_wrong_is_said_all_at_once_and_nothing_runs() {
    let place = Place::new();
    let client = place.client(Era::Modern).await;
    let circle = json!([
        {"id": "a", "tool": "t:echo", "depends_on": ["b"]},
        {"id": "b", "tool": "t:echo", "depends_on": ["a"]}
    ]);
    let several = json!({"tasks": [
        {"id": "a", "tool": "t:echo", "depends_on": ["nowhere"]},
        {"id": "a", "tool": "echo"}
    ]});
    for (workflow, count, says) in [
        (circle, 1, "wait for each other"),
        (several, 3, "nowhere"),
        (json!([{"id": "a", "tool": "t:ehco"}]), 1, "t"),
        (json!([{"id": "a", "tool": "nobody:echo"}]), 1, "nobody"),
        (json!({"tasks": []}), 1, "no tasks"),
    ] {
        let error = refused(&client, "execute_dag", json!({"workflow": workflow})).await;
        assert_eq!(error["code"], -32602);
        let details = error["data"]["details"].as_array().unwrap();
        assert!(details.len() >= count, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let servers = json!({"workflow": {"mcpServers": {"x": {"command": "rm"}}, "tasks": [{"id": "a", "tool": "x:y"}]}});
    refused(&client, "execute_dag", servers).await;
    for (tool, arguments, code) in [
        ("execute_dag", json!({}), -32602),
        ("continue", json!({}), -32602),
        ("continue", json!({"workflow_id": "../x"}), -32602),
        ("continue", json!({"workflow_id": "run_unknown"}), -32001),
        ("abort", json!({"workflow_id": "run_unknown"}), -32602),
        (
            "abort",
            json!({"workflow_id": "run_unknown", "reason": "r"}),
            -32001,
        ),
        (
            "replan",
            json!({"workflow_id": "run_unknown", "new_requirement": "r"}),
            -32001,
        ),
        (
            "approval_response",
            json!({"workflow_id": "run_unknown", "approved": true}),
            -32602,
        ),
        (
            "approval_response",
            json!({"workflow_id": "run_unknown", "checkpoint_id": "chk_unknown_3", "approved": true}),
            -32001,
        ),
    ] {
        let error = refused(&client, tool, arguments).await;
        assert_eq!(error["code"], code, "{tool}: {error}");
        assert!(error["message"].is_string());
    }
    let runs = call(&client, "runs_list", json!({})).await;
    assert_eq!(runs["runs"], json!([]));
}

#[tokio::test]
async fn a_replan_that_cannot_be_is_refused_whole() {
    let client = Place::new().client(Era::Legacy).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let id = &first["workflow_id"];
    for (tasks, says) in [
        (json!([{"id": "a", "tool": "t:echo"}]), "`a`"),
        (
            json!([{"id": "x", "tool": "t:echo", "depends_on": ["q"]}]),
            "`q`",
        ),
        (json!([{"id": "x", "tool": "t:nothing"}]), "nothing"),
        (
            json!([{"id": "x", "tool": "t:echo", "depends_on": ["y"]}, {"id": "y", "tool": "t:echo", "depends_on": ["x"]}]),
            "each other",
        ),
        (json!([]), "no tasks"),
    ] {
        let arguments = json!({"workflow_id": id, "new_requirement": "r", "new_tasks": tasks});
        let error = refused(&client, "replan", arguments).await;
        assert_eq!(error["code"], -32602);
        assert!(error.to_string().contains(says), "{error}");
    }
    let done = call(&client, "continue", json!({"workflow_id": id})).await;
    assert_eq!(done["total_layers"], 3);
}
