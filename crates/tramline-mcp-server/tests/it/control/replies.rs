//! Shapes of replies and errors: the patterns of the guide, approvals, failures, ids, expiry.

use super::{ControlFixture, SAFE, call, call_rejected, diamond, layered};
use crate::support::{Client, Era, connect, over};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::Store;
use tramline_engine::testing::FakeTools;
use tramline_engine::{EngineOptions, clock};
use tramline_mcp_server::{Server, ServerDescription, ServerOptions, Toolset};
use tramline_planner::Services;

fn gate() -> Json {
    json!({"tasks": [
        {"id": "build", "tool": "t:echo"},
        {"id": "deploy", "tool": "t:echo", "depends_on": ["build"], "approval": "it is production"},
        {"id": "tell", "tool": "t:echo", "depends_on": ["deploy"]}
    ]})
}

fn answer(asked: &Json, approved: bool) -> Json {
    json!({"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": approved})
}

/// The third pattern of the guide: approvals are answered, other layers continue.
async fn human_gates(client: &Client, mut response: Json, approved: bool) -> (Json, Vec<String>) {
    let mut asked = Vec::new();
    while response["status"] == "layer_complete" {
        if response["checkpoint_type"] == "approval_required" {
            asked.push(response["decision_context"].as_str().unwrap().to_owned());
            response = call(client, "approval_response", answer(&response, approved)).await;
        } else {
            let go = json!({"workflow_id": response["workflow_id"]});
            response = call(client, "continue", go).await;
        }
    }
    (response, asked)
}

#[tokio::test]
async fn the_pattern_of_human_approval_gates_runs_as_written() {
    for (approved, end) in [(true, "complete"), (false, "rejected")] {
        let client = ControlFixture::new().client(Era::Modern).await;
        let first = call(&client, "execute_dag", layered(gate())).await;
        let (last, asked) = human_gates(&client, first, approved).await;
        assert_eq!(last["status"], end, "{last}");
        assert_eq!(asked.len(), 1);
        assert!(asked[0].contains("it is production"), "{asked:?}");
    }
}

#[tokio::test]
async fn the_pattern_of_progressive_validation_runs_as_written() {
    let client = ControlFixture::new().client(Era::Legacy).await;
    let mut response = call(&client, "execute_dag", layered(diamond())).await;
    let mut layers = 0;
    while response["status"] == "layer_complete" {
        assert!(!response["layer_results"].as_array().unwrap().is_empty());
        layers += 1;
        let go = json!({"workflow_id": response["workflow_id"]});
        response = call(&client, "continue", go).await;
    }
    assert_eq!((&response["status"], layers), (&json!("complete"), 2));
}

#[tokio::test]
async fn the_pattern_of_adaptive_discovery_runs_as_written() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let list = json!([{"id": "list", "tool": "t:echo", "arguments": {"files": ["a.xml"]}}, {"id": "end", "tool": "t:echo", "depends_on": ["list"]}]);
    let mut response = call(&client, "execute_dag", layered(list)).await;
    let mut replanned = false;
    while response["status"] == "layer_complete" {
        if !replanned {
            replanned = true;
            let parse = json!([{"id": "parse", "tool": "t:echo", "arguments": {"f": "$OUTPUT[list].files[0]"}}]);
            let more = json!({"workflow_id": response["workflow_id"], "new_requirement": "parse", "new_tasks": parse});
            response = call(&client, "replan", more).await;
            assert_eq!(response["status"], "replanned");
            assert!(response["expires_at"].is_string(), "{response}");
        }
        let go = json!({"workflow_id": response["workflow_id"]});
        response = call(&client, "continue", go).await;
    }
    assert_eq!(response["results"][2]["output"], json!({"f": "a.xml"}));
}

#[tokio::test]
async fn an_approval_is_a_stop_between_layers_only_where_layers_are_validated() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let first = call(&client, "execute_dag", layered(gate())).await;
    let go = json!({"workflow_id": first["workflow_id"]});
    let asked = call(&client, "continue", go.clone()).await;
    assert_eq!(asked["status"], "layer_complete", "{asked}");
    assert_eq!(asked["checkpoint_type"], "approval_required");
    assert!(asked["decision_context"].is_string() && asked["layer_results"].is_array());
    assert_eq!(asked["options"], json!(["approval_response", "abort"]));
    let error = call_rejected(&client, "continue", go).await;
    let says = error["message"].as_str().unwrap();
    assert!(
        says.contains("approval_response") && says.contains("it is production"),
        "{says}"
    );
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["checkpoint_id"], asked["checkpoint_id"]);
    assert_eq!(error["data"]["checkpoint_type"], "approval_required");
    let eager = call(&client, "execute_dag", json!({"workflow": gate()})).await;
    assert_eq!(eager["status"], "approval_required", "{eager}");
    assert_eq!(eager["checkpoint_type"], "approval_required");
}

#[tokio::test]
async fn a_last_layer_with_a_failure_waits_and_can_be_replanned() {
    let place = ControlFixture::new();
    let client = place.client(Era::Modern).await;
    let dag = json!([
        {"id": "a", "tool": "t:echo"},
        {"id": "bad", "tool": "t:fail", "depends_on": ["a"]},
        {"id": "lost", "tool": "t:echo", "depends_on": ["bad"]}
    ]);
    let first = call(&client, "execute_dag", layered(dag)).await;
    let id = &first["workflow_id"];
    let go = json!({"workflow_id": id});
    let failed = call(&client, "continue", go.clone()).await;
    assert_eq!(failed["status"], "layer_complete", "{failed}");
    assert_eq!(failed["layer_results"][0]["status"], "error");
    assert_eq!(
        (&failed["failed"], &failed["next_layer"]),
        (&json!(1), &json!([]))
    );
    // Also in a process that knows only the journal.
    let client = place.client(Era::Legacy).await;
    let again = json!([{"id": "again", "tool": "t:echo", "depends_on": ["a"]}]);
    let more = json!({"workflow_id": id, "new_requirement": "try again", "new_tasks": again});
    call(&client, "replan", more).await;
    let done = call(&client, "continue", go).await;
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(
        (&done["failed"], &done["skipped"]),
        (&json!(1), &json!(1)),
        "{done}"
    );
    let ids: Vec<_> = done["results"].as_array().unwrap().iter().collect();
    assert_eq!(ids[3]["task_id"], "again");
    assert_eq!(ids[3]["status"], "success");
}

#[tokio::test]
async fn a_complete_workflow_says_how_many_tasks_failed_or_were_skipped() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let good = call(&client, "execute_dag", json!({"workflow": diamond()})).await;
    assert_eq!((&good["failed"], &good["skipped"]), (&json!(0), &json!(0)));
    assert!(good.get("message").is_none(), "{good}");
    let dag = json!([{"id": "bad", "tool": "t:fail"}, {"id": "x", "tool": "t:echo", "depends_on": ["bad"]}, {"id": "y", "tool": "t:echo", "depends_on": ["bad"]}]);
    let bad = call(&client, "execute_dag", json!({"workflow": dag})).await;
    assert_eq!((&bad["failed"], &bad["skipped"]), (&json!(1), &json!(2)));
    assert_eq!(bad["message"], "1 task failed and 2 tasks skipped");
}

#[tokio::test]
async fn an_unknown_id_is_not_found_and_a_wrong_checkpoint_names_the_waiting_one() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let (id, point) = (&first["workflow_id"], &first["checkpoint_id"]);
    for unknown in ["run_unknown", "550e8400-e29b-41d4-a716-446655440000"] {
        for (tool, arguments) in [
            ("continue", json!({"workflow_id": unknown})),
            ("abort", json!({"workflow_id": unknown, "reason": "r"})),
            (
                "replan",
                json!({"workflow_id": unknown, "new_requirement": "r"}),
            ),
            (
                "approval_response",
                json!({"workflow_id": unknown, "checkpoint_id": point, "approved": true}),
            ),
            ("run_read", json!({"run_id": unknown})),
            ("run_debug", json!({"command": "step", "run_id": unknown})),
            ("run_fork", json!({"run_id": unknown})),
        ] {
            let error = call_rejected(&client, tool, arguments).await;
            assert_eq!(error["code"], -32001, "{tool}: {error}");
            assert_eq!(error["data"]["name"], "NOT_FOUND", "{tool}: {error}");
        }
    }
    let malformed = call_rejected(&client, "continue", json!({"workflow_id": "run id"})).await;
    assert_eq!(malformed["code"], -32602);
    for wrong in ["chk_unknown_3", "chk_", "nonsense", "run_unknown"] {
        for (tool, arguments) in [
            (
                "continue",
                json!({"workflow_id": id, "checkpoint_id": wrong}),
            ),
            (
                "replan",
                json!({"workflow_id": id, "checkpoint_id": wrong, "new_requirement": "r", "new_tasks": []}),
            ),
            (
                "approval_response",
                json!({"workflow_id": id, "checkpoint_id": wrong, "approved": true}),
            ),
        ] {
            let error = call_rejected(&client, tool, arguments).await;
            assert_eq!(error["code"], -32602, "{tool} {wrong}: {error}");
            assert_eq!(
                error["data"]["checkpoint_id"], *point,
                "{tool} {wrong}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn runs_and_workflows_are_told_in_the_same_words() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let asked = call(&client, "execute_dag", json!({"workflow": gate()})).await;
    let read = call(&client, "run_read", json!({"run_id": asked["workflow_id"]})).await;
    let waiting = &read["waiting"][0];
    for key in [
        "checkpoint_id",
        "checkpoint_type",
        "decision_context",
        "answers",
    ] {
        assert_eq!(waiting[key], asked[key], "{key}: {read}");
    }
    assert_eq!(read["expires_at"], asked["expires_at"]);
    let stale = json!("chk_unknown_3");
    let of_run = json!({"checkpoint_id": stale, "answer": "approve"});
    assert_eq!(
        call_rejected(&client, "run_answer", of_run).await["code"],
        -32001
    );
    let wrong = format!("{}0", asked["checkpoint_id"].as_str().unwrap());
    let theirs =
        json!({"workflow_id": asked["workflow_id"], "checkpoint_id": wrong, "approved": true});
    let theirs = call_rejected(&client, "approval_response", theirs).await;
    let ours = json!({"checkpoint_id": wrong, "answer": "approve"});
    let ours = call_rejected(&client, "run_answer", ours).await;
    for key in ["code", "message"] {
        assert_eq!(ours[key], theirs[key]);
    }
    assert_eq!(ours["data"]["checkpoint_id"], asked["checkpoint_id"]);
    assert_eq!(theirs["data"]["checkpoint_id"], asked["checkpoint_id"]);
    let yes = json!({"checkpoint_id": asked["checkpoint_id"], "answer": "approve"});
    assert_eq!(
        call(&client, "run_answer", yes).await["status"],
        "completed"
    );
}

/// A server whose workflows wait this long for an answer.
fn lasting(place: &ControlFixture, ttl: Duration, commands_per_minute: u32) -> Server {
    let conduct = ServerOptions {
        ttl: Some(ttl),
        commands_per_minute,
        ..ServerOptions::default()
    };
    let toolsets = [Toolset::Control, Toolset::Debug];
    Server::with_options(
        place.services(),
        ServerDescription::default(),
        &toolsets,
        [],
        conduct,
    )
    .unwrap()
}

#[tokio::test]
async fn replies_say_when_a_workflow_expires_and_an_expired_one_is_not_aborted() {
    let place = ControlFixture::new();
    let hour = Duration::from_secs(3_600);
    let client = connect(&lasting(&place, hour, 120), Era::Modern).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let at = first["expires_at"].as_str().unwrap();
    let at = chrono::DateTime::parse_from_rfc3339(at).unwrap();
    let left = at.timestamp_millis() - clock::now_ms();
    assert!((1..=3_600_000).contains(&left), "{left}");
    let client = connect(&lasting(&place, Duration::from_millis(1), 120), Era::Modern).await;
    let short = call(&client, "execute_dag", layered(diamond())).await;
    let begun = clock::now_ms();
    while clock::now_ms() < begun + 3 {
        tokio::task::yield_now().await;
    }
    let id = &short["workflow_id"];
    for (tool, arguments) in [
        ("continue", json!({"workflow_id": id})),
        ("abort", json!({"workflow_id": id, "reason": "r"})),
        (
            "run_answer",
            json!({"checkpoint_id": short["checkpoint_id"], "answer": "approve"}),
        ),
    ] {
        let error = call_rejected(&client, tool, arguments).await;
        assert_eq!(
            (&error["code"], &error["data"]["status"]),
            (&json!(-32001), &json!("expired")),
            "{tool}: {error}"
        );
    }
    let read = call(&client, "run_read", json!({"run_id": id})).await;
    assert_eq!(read["status"], "expired", "{read}");
    let listed = call(&client, "runs_list", json!({"status": "expired"})).await;
    assert_eq!(listed["runs"][0]["run_id"], *id, "{listed}");
    let listed = call(&client, "runs_list", json!({"status": "aborted"})).await;
    assert_eq!(listed["runs"], json!([]));
}

#[tokio::test]
async fn the_rate_of_commands_outlives_the_process() {
    let place = ControlFixture::new();
    let hour = Duration::from_secs(3_600);
    let serve = || lasting(&place, hour, 3);
    let client = connect(&serve(), Era::Modern).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let stale = json!({"workflow_id": first["workflow_id"], "checkpoint_id": format!("{}0", first["checkpoint_id"].as_str().unwrap())});
    for _ in 0..3 {
        let client = connect(&serve(), Era::Modern).await;
        assert_eq!(
            call_rejected(&client, "continue", stale.clone()).await["code"],
            -32602
        );
    }
    let client = connect(&serve(), Era::Legacy).await;
    let limited = call_rejected(&client, "continue", stale).await;
    assert_eq!(limited["data"]["name"], "RATE_LIMITED", "{limited}");
    assert!(limited["data"]["retry_after_ms"].as_i64().unwrap() > 0);
    let other = call(&client, "execute_dag", layered(diamond())).await;
    let go = json!({"workflow_id": other["workflow_id"]});
    call(&client, "continue", go).await;
}

#[tokio::test]
async fn every_error_has_a_code() {
    let place = ControlFixture::new();
    let services = Services::new(
        Arc::new(place.store.process()) as Arc<dyn Store>,
        Arc::new(FakeTools::new().tool("t", "echo", SAFE, |arguments| async { Ok(arguments) })),
        EngineOptions::default(),
    );
    let client = connect(&over(services, &Toolset::ALL, vec![]), Era::Modern).await;
    let nowhere = "chk_unknown_3";
    for tool in client.tools().await {
        for arguments in [
            json!({}),
            json!({"nonsense": 1}),
            json!({"workflow_id": "run_unknown", "run_id": "run_unknown"}),
            json!({"checkpoint_id": nowhere, "answer": "approve"}),
            json!({"run_id": "run_unknown"}),
            json!({"command": "step", "run_id": "run_unknown"}),
            json!({"sop_file": "nowhere.md"}),
            json!({"node_id": "NOWHERE"}),
        ] {
            let result = client.call(&tool.name, arguments.clone()).await;
            if result.is_error == Some(true) {
                let code = &result.structured_content.as_ref().unwrap()["error"]["code"];
                assert!(
                    code.is_i64() || code.is_string(),
                    "{} {arguments}: {result:?}",
                    tool.name
                );
            }
        }
    }
}
