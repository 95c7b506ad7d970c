//! Simultaneous commands without a checkpoint: one wins, the others get the current state.

use super::{ControlFixture, call, call_rejected, diamond, layered};
use crate::support::{Client, Era, request, structured};
use futures_util::future::{join_all, select_all};
use rmcp::model::CallToolResult;
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;

/// Three layers; the call in the second waits to be released.
fn held_dag() -> Json {
    json!({"tasks": [
        {"id": "a", "tool": "t:echo"},
        {"id": "b", "tool": "t:hold", "depends_on": ["a"]},
        {"id": "c", "tool": "t:echo", "depends_on": ["b"]}
    ]})
}

fn begin(client: &Client, tool: &'static str, arguments: Json) -> JoinHandle<CallToolResult> {
    let peer = client.service.peer().clone();
    tokio::spawn(async move { peer.call_tool(request(tool, arguments)).await.unwrap() })
}

/// Waits until the held call has started, then releases it.
async fn release_held(place: &ControlFixture) {
    while place.held_calls() == 0 {
        tokio::task::yield_now().await;
    }
    place.gate.add_permits(1);
}

/// The successful replies, and the errors.
fn replies_and_errors(all: Vec<CallToolResult>) -> (Vec<Json>, Vec<Json>) {
    let (lost, won): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|result| result.is_error == Some(true));
    let errors = lost.iter().map(|one| structured(one)["error"].clone());
    (
        won.iter().map(|one| structured(one).clone()).collect(),
        errors.collect(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_unnamed_continues_one_wins_in_one_process_and_in_two() {
    for two_processes in [false, true] {
        let place = ControlFixture::new();
        let server = place.server();
        let one = crate::support::connect(&server, Era::Legacy).await;
        let two = match two_processes {
            true => place.client(Era::Modern).await,
            false => crate::support::connect(&server, Era::Modern).await,
        };
        let first = call(&one, "execute_dag", layered(held_dag())).await;
        let go = json!({"workflow_id": first["workflow_id"]});
        let both = [&one, &two].map(|client| begin(client, "continue", go.clone()));
        // The layer lasts until the other one is rejected.
        let (first_back, _, rest) = select_all(both).await;
        release_held(&place).await;
        let rest = join_all(rest).await;
        let both = [first_back].into_iter().chain(rest).map(Result::unwrap);
        let (won, lost) = replies_and_errors(both.collect());
        assert_eq!((won.len(), lost.len()), (1, 1), "{won:?} {lost:?}");
        assert_eq!(
            (&won[0]["status"], &won[0]["layer_index"]),
            (&json!("layer_complete"), &json!(1))
        );
        assert_eq!(lost[0]["code"], -32602, "{lost:?}");
        assert_eq!(lost[0]["data"]["workflow_id"], first["workflow_id"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unnamed_continues_at_once_never_run_a_layer_that_nobody_has_seen() {
    for _ in 0..20 {
        let place = ControlFixture::new();
        let client = place.client(Era::Modern).await;
        let first = call(&client, "execute_dag", layered(diamond())).await;
        let go = json!({"workflow_id": first["workflow_id"]});
        let all = (0..4).map(|_| begin(&client, "continue", go.clone()));
        let all = join_all(all).await.into_iter().map(Result::unwrap);
        let (won, lost) = replies_and_errors(all.collect());
        // Some may have arrived after the reply to another; each ran a different layer.
        let mut layers: Vec<_> = won.iter().map(|one| one["layer_index"].as_u64()).collect();
        let count = layers.len();
        layers.sort_unstable();
        layers.dedup();
        assert_eq!(layers.len(), count, "{won:?}");
        assert!(lost.iter().all(|one| one["code"] == -32602), "{lost:?}");
    }
}

#[tokio::test]
async fn a_replan_holds_for_the_checkpoint_that_it_names() {
    let place = ControlFixture::new();
    let client = place.client(Era::Modern).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let id = &first["workflow_id"];
    let second = call(&client, "continue", json!({"workflow_id": id})).await;
    let more = |checkpoint: &Json| {
        json!({"workflow_id": id, "new_requirement": "r", "checkpoint_id": checkpoint,
            "new_tasks": [{"id": "x", "tool": "t:echo"}]})
    };
    let stale = call_rejected(&client, "replan", more(&first["checkpoint_id"])).await;
    assert_eq!(stale["data"]["checkpoint_id"], second["checkpoint_id"]);
    let now = call(&client, "replan", more(&second["checkpoint_id"])).await;
    assert_eq!(now["status"], "replanned");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_yes_and_an_abort_at_once_the_workflow_has_one_end() {
    for _ in 0..20 {
        let place = ControlFixture::new();
        let (one, two) = (
            place.client(Era::Legacy).await,
            place.client(Era::Modern).await,
        );
        let dag = json!({"workflow": [{"id": "a", "tool": "t:echo", "approval": true}]});
        let asked = call(&one, "execute_dag", dag).await;
        let yes = json!({"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": true});
        let end = json!({"workflow_id": asked["workflow_id"], "reason": "stop"});
        let both = join_all([one.call("approval_response", yes), two.call("abort", end)]).await;
        let (won, lost) = replies_and_errors(both);
        let ends: Vec<_> = won.iter().map(|one| &one["status"]).collect();
        match ends.as_slice() {
            [only] => assert!(*only == "complete" || *only == "aborted", "{won:?}"),
            // The approval counted, and the abort ended the resumed run.
            [yes, end] => assert_eq!((*yes, *end), (&json!("aborted"), &json!("aborted"))),
            other => panic!("{other:?} {lost:?}"),
        }
        assert!(lost.iter().all(|one| one["code"] == -32602), "{lost:?}");
    }
}
