//! Concurrency: answers, continues, aborts and replans during a layer, and a process that dies.

use super::{ControlFixture, call, diamond, layered};
use crate::support::{Client, Era, connect, over, request, structured};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::EngineOptions;
use tramline_engine::ports::{RunFilter, RunStatus};
use tramline_mcp_server::Toolset;
use tramline_planner::Services;

/// Starts a DAG whose call is held, and kills its process. Returns the workflow's id.
pub(super) async fn die_while_held(place: &ControlFixture, dag: Json) -> String {
    let store = place.store.process();
    let tools = place.tools();
    let dying = Services::new(
        Arc::new(store.clone()),
        Arc::new(tools),
        EngineOptions::default(),
    );
    let client = connect(&over(dying, &[Toolset::Control], vec![]), Era::Modern).await;
    let peer = client.service.peer().clone();
    tokio::spawn(async move { peer.call_tool_once(request("execute_dag", dag)).await });
    let id = running(place).await;
    place.until_held(1).await;
    store.kill();
    id
}

/// The id of the only run, once it has started.
async fn running(place: &ControlFixture) -> String {
    loop {
        let rows = place
            .services()
            .engine
            .runs(RunFilter::default())
            .await
            .unwrap()
            .rows;
        if let Some(row) = rows.first() {
            return row.run.to_string();
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until the only run has this status.
async fn status_is(place: &ControlFixture, status: RunStatus) {
    let engine = place.services().engine;
    loop {
        let rows = engine.runs(RunFilter::default()).await.unwrap().rows;
        if rows[0].index_row.status == status {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until a held call has started and the answer that led to it is in the journal: read-only calls do not
/// wait for the disk.
async fn layer_runs(place: &ControlFixture) {
    place.until_held(1).await;
    status_is(place, RunStatus::Running).await;
}

fn held() -> Json {
    json!({"tasks": [
        {"id": "a", "tool": "t:echo"},
        {"id": "b", "tool": "t:hold", "arguments": {"n": 1}, "depends_on": ["a"]},
        {"id": "c", "tool": "t:echo", "depends_on": ["b"]}
    ]})
}

/// Calls in the background.
fn begin(client: &Client, tool: &'static str, arguments: Json) -> tokio::task::JoinHandle<Json> {
    let peer = client.service.peer().clone();
    tokio::spawn(async move {
        let result = peer.call_tool(request(tool, arguments)).await.unwrap();
        structured(&result).clone()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_continues_one_wins() {
    for _ in 0..20 {
        let place = ControlFixture::new();
        let (one, two) = (
            place.client(Era::Legacy).await,
            place.client(Era::Modern).await,
        );
        let first = call(&one, "execute_dag", layered(diamond())).await;
        let go =
            json!({"workflow_id": first["workflow_id"], "checkpoint_id": first["checkpoint_id"]});
        let both = join_all([one.call("continue", go.clone()), two.call("continue", go)]).await;
        let won: Vec<_> = both
            .iter()
            .filter(|result| result.is_error != Some(true))
            .collect();
        assert_eq!(won.len(), 1, "{both:?}");
        assert_eq!(structured(won[0])["layer_index"], 1);
        let lost = both
            .iter()
            .find(|result| result.is_error == Some(true))
            .unwrap();
        assert_eq!(structured(lost)["error"]["code"], -32602);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_answers_one_wins() {
    for _ in 0..20 {
        let place = ControlFixture::new();
        let (one, two) = (
            place.client(Era::Legacy).await,
            place.client(Era::Modern).await,
        );
        let dag = json!({"workflow": [{"id": "a", "tool": "t:echo", "approval": true}]});
        let asked = call(&one, "execute_dag", dag).await;
        let say = |approved: bool| json!({"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": approved});
        let both = join_all([
            one.call("approval_response", say(true)),
            two.call("approval_response", say(false)),
        ])
        .await;
        let told: Vec<_> = both
            .iter()
            .filter(|result| result.is_error == Some(true))
            .collect();
        assert_eq!(told.len(), 1, "{both:?}");
    }
}

#[tokio::test]
async fn a_second_continue_while_the_layer_runs_is_told() {
    let place = ControlFixture::new();
    let client = place.client(Era::Modern).await;
    let first = call(&client, "execute_dag", layered(held())).await;
    let go = json!({"workflow_id": first["workflow_id"]});
    let waiting = begin(&client, "continue", go.clone());
    layer_runs(&place).await;
    let told = super::call_rejected(&client, "continue", go).await;
    assert!(
        told["message"].as_str().unwrap().contains("running"),
        "{told}"
    );
    place.gate.add_permits(1);
    let second = waiting.await.unwrap();
    assert_eq!(
        (&second["status"], &second["layer_index"]),
        (&json!("layer_complete"), &json!(1))
    );
}

#[tokio::test]
async fn an_abort_during_a_layer_ends_it_for_everybody() {
    let place = ControlFixture::new();
    let client = place.client(Era::Modern).await;
    let first = call(&client, "execute_dag", layered(held())).await;
    let id = &first["workflow_id"];
    let waiting = begin(&client, "continue", json!({"workflow_id": id}));
    layer_runs(&place).await;
    let other = place.client(Era::Legacy).await;
    let aborted = call(
        &other,
        "abort",
        json!({"workflow_id": id, "reason": "stop"}),
    )
    .await;
    assert_eq!(
        (&aborted["status"], &aborted["completed_layers"]),
        (&json!("aborted"), &json!(1))
    );
    let told = waiting.await.unwrap();
    assert_eq!(
        (&told["status"], &told["reason"]),
        (&json!("aborted"), &json!("stop"))
    );
}

#[tokio::test]
async fn a_replan_waits_for_the_end_of_the_layer() {
    let place = ControlFixture::new();
    let client = place.client(Era::Legacy).await;
    let first = call(&client, "execute_dag", layered(held())).await;
    let id = &first["workflow_id"];
    let waiting = begin(&client, "continue", json!({"workflow_id": id}));
    layer_runs(&place).await;
    let other = place.client(Era::Modern).await;
    let more = json!({"workflow_id": id, "new_requirement": "r", "new_tasks": [
        {"id": "x", "tool": "t:echo", "arguments": {"a": "$OUTPUT[b].n"}}
    ]});
    let told = super::call_rejected(&other, "replan", more.clone()).await;
    assert_eq!(
        (&told["code"], &told["data"]["workflow_id"]),
        (&json!(-32602), id)
    );
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("a layer is running"),
        "{told}"
    );
    place.gate.add_permits(1);
    let second = waiting.await.unwrap();
    assert_eq!(
        second["layer_results"].as_array().unwrap().len(),
        1,
        "{second}"
    );
    call(&other, "replan", more).await;
    let done = call(&other, "continue", json!({"workflow_id": id})).await;
    assert_eq!(done["status"], "complete");
    assert_eq!(done["results"][3]["output"], json!({"a": 1}));
}

#[tokio::test]
async fn a_workflow_without_layers_grows_while_it_runs() {
    let place = ControlFixture::new();
    let client = place.client(Era::Legacy).await;
    let waiting = begin(&client, "execute_dag", json!({"workflow": held()}));
    let id = running(&place).await;
    place.until_held(1).await;
    let other = place.client(Era::Modern).await;
    let more = json!({"workflow_id": id, "new_requirement": "r", "new_tasks": [
        {"id": "x", "tool": "t:echo", "arguments": {"a": "$OUTPUT[b].n"}}
    ]});
    call(&other, "replan", more).await;
    place.gate.add_permits(1);
    let done = waiting.await.unwrap();
    assert_eq!(
        (&done["status"], &done["results"][3]["output"]),
        (&json!("complete"), &json!({"a": 1}))
    );
}

#[tokio::test]
async fn a_cancelled_call_leaves_a_layered_workflow_and_ends_an_eager_one() {
    for validated in [true, false] {
        let place = ControlFixture::new();
        let client = place.client(Era::Modern).await;
        let dag = json!({"workflow": [{"id": "b", "tool": "t:hold"}, {"id": "c", "tool": "t:echo", "depends_on": ["b"]}],
            "config": {"per_layer_validation": validated}});
        let peer = client.service.peer().clone();
        let calling = rmcp::service::PeerRequestOptions::no_options();
        let params = rmcp::model::CallToolRequest::new(request("execute_dag", dag));
        let sent = peer
            .send_cancellable_request(params.into(), calling)
            .await
            .unwrap();
        let id = running(&place).await;
        place.until_held(1).await;
        sent.cancel(Some("changed my mind".into())).await.unwrap();
        if validated {
            place.gate.add_permits(1);
            status_is(&place, RunStatus::Paused).await;
            let done = call(&client, "continue", json!({"workflow_id": id})).await;
            assert_eq!(done["status"], "complete", "{done}");
        } else {
            status_is(&place, RunStatus::Aborted).await;
        }
    }
}

#[tokio::test]
async fn too_many_commands_are_told_when_to_come_again() {
    let place = ControlFixture::new();
    let conduct = tramline_mcp_server::ServerOptions {
        commands_per_minute: 3,
        ..Default::default()
    };
    let toolsets = [tramline_mcp_server::Toolset::Control];
    let about = tramline_mcp_server::ServerDescription::default();
    let server =
        tramline_mcp_server::Server::with_options(place.services(), about, &toolsets, [], conduct);
    let client = crate::support::connect(&server.unwrap(), Era::Modern).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let stale = json!({"workflow_id": first["workflow_id"], "checkpoint_id": format!("{}0", first["checkpoint_id"].as_str().unwrap())});
    for _ in 0..3 {
        assert_eq!(
            super::call_rejected(&client, "continue", stale.clone()).await["code"],
            -32602
        );
    }
    let limited = super::call_rejected(&client, "continue", stale).await;
    assert_eq!(limited["data"]["name"], "RATE_LIMITED");
    let wait = limited["data"]["retry_after_ms"].as_i64().unwrap();
    assert!((1..=20_000).contains(&wait), "{limited}");
    let other = call(&client, "execute_dag", layered(diamond())).await;
    call(
        &client,
        "continue",
        json!({"workflow_id": other["workflow_id"]}),
    )
    .await;
}
