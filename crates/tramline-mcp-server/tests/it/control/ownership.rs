//! Ownership of workflows: tokens and sessions hide them from others; the audit log covers all.

use super::{ControlFixture, call, call_rejected, diamond, layered};
use crate::support::{Client, Era, connect_over, over_http};
use rmcp::model::ClientCapabilities;
use serde_json::json;
use std::net::SocketAddr;
use tokio_util::sync::{CancellationToken, DropGuard};
use tramline_mcp_server::{HttpOptions, NamedToken};

async fn listen(place: &ControlFixture) -> (SocketAddr, DropGuard) {
    let named = |name: &str| NamedToken {
        name: name.into(),
        token: format!("{name}-secret"),
        approver: false,
    };
    let http = HttpOptions {
        token: Some("own".into()),
        named_tokens: vec![named("ann"), named("bob")],
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let stop = CancellationToken::new();
    let listening = place.server().listen(http, stop.clone()).await.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    (address, stop.drop_guard())
}

async fn caller(address: SocketAddr, token: &str, era: Era) -> Client {
    let transport = over_http(address, Some(token));
    connect_over(transport, era, ClientCapabilities::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_of_another_token_is_not_there() {
    let place = ControlFixture::new();
    let (address, _guard) = listen(&place).await;
    let ann = caller(address, "ann-secret", Era::Modern).await;
    let first = call(&ann, "execute_dag", layered(diamond())).await;
    let (id, point) = (&first["workflow_id"], &first["checkpoint_id"]);
    for (token, era) in [("bob-secret", Era::Legacy), ("own", Era::Modern)] {
        let other = caller(address, token, era).await;
        for (tool, arguments) in [
            ("continue", json!({"workflow_id": id})),
            ("abort", json!({"workflow_id": id, "reason": "r"})),
            ("replan", json!({"workflow_id": id, "new_requirement": "r"})),
            (
                "approval_response",
                json!({"workflow_id": id, "checkpoint_id": point, "approved": false}),
            ),
        ] {
            assert_eq!(
                call_rejected(&other, tool, arguments).await["code"],
                -32001,
                "{tool}"
            );
        }
        for (tool, arguments) in [
            ("run_read", json!({"run_id": id})),
            ("run_debug", json!({"command": "stop", "run_id": id})),
            (
                "run_answer",
                json!({"checkpoint_id": point, "answer": "proceed"}),
            ),
            ("run_fork", json!({"run_id": id})),
            ("run_replay", json!({"run_id": id})),
            ("runs_compare", json!({"first": id, "second": id})),
            ("expression_test", json!({"expression": "1", "run_id": id})),
        ] {
            let error = call_rejected(&other, tool, arguments).await;
            assert!(
                error["message"].as_str().unwrap().contains("not found"),
                "{tool}: {error}"
            );
        }
        let listed = call(&other, "runs_list", json!({})).await;
        assert_eq!(listed["runs"], json!([]), "{token}");
    }
    let again = caller(address, "ann-secret", Era::Legacy).await;
    assert_eq!(
        call(&again, "runs_list", json!({})).await["runs"][0]["run_id"],
        *id
    );
    let second = call(&again, "continue", json!({"workflow_id": id})).await;
    assert_eq!(second["layer_index"], 1);
}

#[tokio::test]
async fn a_workflow_of_another_session_is_not_there() {
    let place = ControlFixture::new();
    let client = place.client(Era::Modern).await;
    let mut start = layered(diamond());
    start["session_id"] = json!("s1");
    let first = call(&client, "execute_dag", start).await;
    let id = &first["workflow_id"];
    for other in [
        json!({"workflow_id": id}),
        json!({"workflow_id": id, "session_id": "s2"}),
    ] {
        assert_eq!(
            call_rejected(&client, "continue", other).await["code"],
            -32001
        );
    }
    call_rejected(&client, "run_read", json!({"run_id": id})).await;
    call(
        &client,
        "run_read",
        json!({"run_id": id, "session_id": "s1"}),
    )
    .await;
    assert_eq!(
        call(&client, "runs_list", json!({})).await["runs"],
        json!([])
    );
    let own = json!({"workflow_id": id, "session_id": "s1"});
    assert_eq!(call(&client, "continue", own).await["layer_index"], 1);
}

#[tokio::test]
async fn every_command_is_noted_refused_ones_too() {
    let place = ControlFixture::new();
    let services = place.services();
    let server = crate::support::over(
        services.clone(),
        &[tramline_mcp_server::Toolset::Control],
        vec![],
    );
    let client = crate::support::connect(&server, Era::Legacy).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let id = first["workflow_id"].as_str().unwrap();
    call_rejected(&client, "abort", json!({"workflow_id": id})).await;
    call_rejected(&client, "continue", json!({"workflow_id": "run_other"})).await;
    call(
        &client,
        "abort",
        json!({"workflow_id": id, "reason": "enough"}),
    )
    .await;
    services.engine.close().await;
    let notes = place.services().engine.audit_notes(0, None).await.unwrap();
    let told: Vec<_> = notes
        .iter()
        .map(|note| {
            (
                note["command"].as_str().unwrap(),
                note["result"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("execute_dag", "layer_complete"),
            ("abort", "refused"),
            ("continue", "refused"),
            ("abort", "aborted")
        ]
    );
    assert_eq!(
        (&notes[3]["by"], &notes[3]["why"]),
        (&json!("agent test"), &json!("enough"))
    );
    assert!(notes[2]["error"].as_str().unwrap().starts_with("NOT_FOUND"));
    let of_run = place
        .services()
        .engine
        .audit_notes(0, Some(&id.parse().unwrap()))
        .await
        .unwrap();
    assert_eq!(of_run.len(), 3);
    assert!(
        place
            .services()
            .engine
            .audit_notes(i64::MAX, None)
            .await
            .unwrap()
            .is_empty()
    );
}
