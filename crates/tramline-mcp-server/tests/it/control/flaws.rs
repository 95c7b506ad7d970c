//! Invalid workflows: all flaws are reported before anything runs.

use super::{ControlFixture, call, call_rejected, diamond, layered};
use crate::support::{Era, connect, over};
use serde_json::json;
use std::sync::Arc;
use tramline_engine::EngineOptions;
use tramline_mcp_server::Toolset;
use tramline_planner::Services;

#[tokio::test]
async fn what_is_wrong_is_said_all_at_once_and_nothing_runs() {
    let place = ControlFixture::new();
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
        (circle, 1, "depend on each other"),
        (several, 3, "nowhere"),
        (json!([{"id": "a", "tool": "t:ehco"}]), 1, "t"),
        (json!([{"id": "a", "tool": "nobody:echo"}]), 1, "nobody"),
        (json!({"tasks": []}), 1, "no tasks"),
    ] {
        let error = call_rejected(&client, "execute_dag", json!({"workflow": workflow})).await;
        assert_eq!(error["code"], -32602);
        let details = error["data"]["details"].as_array().unwrap();
        assert!(details.len() >= count, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let servers = json!({"workflow": {"mcpServers": {"x": {"command": "rm"}}, "tasks": [{"id": "a", "tool": "x:y"}]}});
    call_rejected(&client, "execute_dag", servers).await;
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
        let error = call_rejected(&client, tool, arguments).await;
        assert_eq!(error["code"], code, "{tool}: {error}");
        assert!(error["message"].is_string());
    }
    let runs = call(&client, "runs_list", json!({})).await;
    assert_eq!(runs["runs"], json!([]));
}

#[tokio::test]
async fn a_replan_that_cannot_be_is_refused_whole() {
    let client = ControlFixture::new().client(Era::Legacy).await;
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
        let error = call_rejected(&client, "replan", arguments).await;
        assert_eq!(error["code"], -32602);
        assert!(error.to_string().contains(says), "{error}");
    }
    let done = call(&client, "continue", json!({"workflow_id": id})).await;
    assert_eq!(done["total_layers"], 3);
}

#[tokio::test]
async fn a_misspelled_field_is_an_error_and_nothing_runs() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    for field in ["aproval", "approvals", "needs_approval", "depend_on"] {
        let mut task = json!({"id": "x", "tool": "t:nothing"});
        task[field] = json!(true);
        let dag = json!({"workflow": {"tasks": [task.clone()]}});
        let text = json!({"workflow": json!({"tasks": [task.clone()]}).to_string()});
        let added = json!({"workflow_id": first["workflow_id"], "new_requirement": "r", "new_tasks": [task]});
        for (tool, arguments) in [
            ("execute_dag", dag),
            ("execute_dag", text),
            ("replan", added),
        ] {
            let error = call_rejected(&client, tool, arguments).await;
            let details = error["data"]["details"].to_string();
            assert!(details.contains("T0036"), "{tool} {field}: {error}");
            // Unknown tools are reported in the same reply.
            assert!(details.contains("T0017"), "{tool} {field}: {error}");
        }
    }
    let config =
        json!({"tasks": [{"id": "x", "tool": "t:echo"}], "config": {"per_layer_validaton": true}});
    let error = call_rejected(&client, "execute_dag", json!({"workflow": config})).await;
    assert!(
        error["data"]["details"].to_string().contains("T0036"),
        "{error}"
    );
    let runs = call(&client, "runs_list", json!({})).await;
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
}

#[tokio::test]
async fn other_unknown_fields_are_warnings_in_the_reply() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let dag = json!({"tasks": [{"id": "x", "tool": "t:echo", "colour": "red"}]});
    let done = call(&client, "execute_dag", json!({"workflow": dag})).await;
    assert_eq!(done["status"], "complete");
    assert_eq!(done["warnings"][0]["code"], "T0005", "{done}");
    assert_eq!(done["warnings"][0]["path"], "/tasks/0/colour");
    let first = call(&client, "execute_dag", layered(diamond())).await;
    assert!(first.get("warnings").is_none());
    let added = json!({
        "workflow_id": first["workflow_id"], "new_requirement": "r",
        "new_tasks": [{"id": "x", "tool": "t:echo", "colour": "red"}],
    });
    let grown = call(&client, "replan", added).await;
    assert_eq!(grown["warnings"][0]["code"], "T0005", "{grown}");
}

#[tokio::test]
async fn a_config_inside_the_workflow_counts() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let mut dag = diamond();
    dag["config"] = json!({"per_layer_validation": true});
    for workflow in [dag.clone(), json!(dag.to_string())] {
        let paused = call(&client, "execute_dag", json!({"workflow": workflow})).await;
        assert_eq!(paused["status"], "layer_complete", "{paused}");
    }
    let off = json!({"workflow": dag, "config": {"per_layer_validation": false}});
    assert_eq!(
        call(&client, "execute_dag", off).await["status"],
        "complete"
    );
    dag["config"] = json!({"per_layer_validation": "yes"});
    call_rejected(&client, "execute_dag", json!({"workflow": dag})).await;
}

#[tokio::test]
async fn a_call_without_a_required_argument_is_rejected() {
    let place = ControlFixture::new();
    let schema = r#"{"type": "object", "properties": {"to": {}, "amount": {}}, "required": ["to", "amount"]}"#;
    let tools = place.tools().described("t", "echo", "Pays", schema);
    let services = Services::new(
        Arc::new(place.store.process()),
        Arc::new(tools),
        EngineOptions::default(),
    );
    let server = over(services, &[Toolset::Control, Toolset::Debug], vec![]);
    let client = connect(&server, Era::Modern).await;
    let task = |arguments| json!({"id": "a", "tool": "t:echo", "arguments": arguments});
    for arguments in [json!({}), json!({"to": "x"}), json!({"to": {"expr": "1"}})] {
        let workflow = json!({"workflow": {"tasks": [task(arguments)]}});
        let error = call_rejected(&client, "execute_dag", workflow).await;
        let details = error["data"]["details"].to_string();
        assert!(details.contains("`amount`"), "{error}");
        assert_eq!(error["data"]["details"][0]["path"], "/tasks/0/arguments");
    }
    for arguments in [
        json!({"to": "x", "amount": 1}),
        json!({"to": "x", "amount": {"expr": "1 + 1"}}),
        json!({"expr": "{'to': 'x', 'amount': 1}"}),
    ] {
        let workflow = json!({"workflow": {"tasks": [task(arguments)]}});
        let done = call(&client, "execute_dag", workflow).await;
        assert_eq!(done["status"], "complete", "{done}");
    }
    let first = call(&client, "execute_dag", layered(json!({"tasks": [
        {"id": "a", "tool": "t:echo", "arguments": {"to": "x", "amount": 1}},
        {"id": "b", "tool": "t:echo", "arguments": {"to": "x", "amount": 1}, "depends_on": ["a"]}
    ]})))
    .await;
    let added = json!({
        "workflow_id": first["workflow_id"], "new_requirement": "r",
        "new_tasks": [{"id": "x", "tool": "t:echo", "arguments": {"to": "x"}}],
    });
    let error = call_rejected(&client, "replan", added).await;
    assert!(
        error
            .to_string()
            .contains("`x` lacks the argument `amount`"),
        "{error}"
    );
}
