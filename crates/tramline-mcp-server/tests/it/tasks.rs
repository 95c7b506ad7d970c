//! Long runs as tasks: handed over, polled, answered, cancelled, by any server over the store.

use super::support::{
    Client, ERAS, Era, calling, connect, connect_with, filled, over, request, services,
};
use rmcp::model::{
    CallToolResponse, CancelTaskParams, ClientCapabilities, GetTaskParams, TaskPayload,
    UpdateTaskParams,
};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;

/// A tool that waits to be released.
fn slow(store: &MemoryStore, gate: &Arc<Semaphore>) -> Services {
    let gate = Arc::clone(gate);
    let tools = FakeTools::new().tool(
        "t",
        "slow",
        ToolHints::default(),
        move |arguments: Value| {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(arguments)
            }
        },
    );
    services(store.clone(), tools)
}

fn server(services: Services, more: &str) -> Server {
    over(
        services,
        &[Toolset::Graphs],
        vec![calling("slow", "slow", more)],
    )
}

fn tasks() -> ClientCapabilities {
    ClientCapabilities::builder()
        .enable_elicitation()
        .enable_tasks()
        .build()
}

/// Calls the tool and gets a task.
async fn handed(client: &Client) -> String {
    let called = client
        .service
        .call_tool_once(request("slow", json!({"a": 1})))
        .await;
    let CallToolResponse::Task(created) = called.unwrap() else {
        panic!("no task");
    };
    assert!(created.task.task_id.starts_with("run_"));
    assert!(created.task.ttl_ms.is_some());
    created.task.task_id
}

async fn state(client: &Client, id: &str) -> TaskPayload {
    let peer = client.service.peer();
    peer.get_task(GetTaskParams::new(id))
        .await
        .unwrap()
        .task
        .payload
}

/// Polls until the task has the wanted state.
async fn until(client: &Client, id: &str, wanted: impl Fn(&TaskPayload) -> bool) -> TaskPayload {
    let began = std::time::Instant::now();
    loop {
        let now = state(client, id).await;
        if wanted(&now) {
            return now;
        }
        assert!(began.elapsed() < crate::support::SOON, "{now:?}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_long_run_is_a_task_for_who_knows_tasks() {
    for era in ERAS {
        let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
        let client = connect_with(&server(slow(&store, &gate), ""), era, tasks()).await;
        let id = handed(&client).await;
        assert_eq!(state(&client, &id).await, TaskPayload::Working, "{era:?}");
        gate.add_permits(1);
        let done = until(&client, &id, |now| *now != TaskPayload::Working).await;
        let TaskPayload::Completed { result } = done else {
            panic!("{done:?}");
        };
        assert_eq!(result["structuredContent"], json!({"a": 1}));
        // A short run is answered at once.
        gate.add_permits(1);
        let called = client
            .service
            .call_tool_once(request("slow", json!({})))
            .await;
        assert!(
            matches!(called, Ok(CallToolResponse::Complete(_))),
            "{called:?}"
        );
        let unknown = client
            .service
            .peer()
            .get_task(GetTaskParams::new("run_x"))
            .await;
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("unknown task `run_x`")
        );
    }
}

#[tokio::test]
async fn a_task_is_cancelled() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let client = connect_with(&server(slow(&store, &gate), ""), Era::Modern, tasks()).await;
    let id = handed(&client).await;
    let cancel = || {
        client
            .service
            .peer()
            .cancel_task(CancelTaskParams::new(&id))
    };
    cancel().await.unwrap();
    until(&client, &id, |now| *now == TaskPayload::Cancelled).await;
    cancel().await.unwrap();
}

#[tokio::test]
async fn a_task_that_asks_is_answered_through_another_server() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let nodes = "      - { id: entry, type: entry, next: one }\n\
        \x20     - { id: one, type: mcp, server: t, tool: slow, args: $.entry, next: two }\n\
        \x20     - { id: two, type: mcp, server: t, tool: slow, args: $.entry, next: exit, approval: again }\n\
        \x20     - { id: exit, type: exit }\n";
    let serve = || {
        let graphs = vec![super::support::graph("slow", nodes)];
        over(slow(&store, &gate), &[Toolset::Graphs], graphs)
    };
    let first = connect_with(&serve(), Era::Modern, tasks()).await;
    let id = handed(&first).await;
    gate.add_permits(2);
    let second = connect_with(&serve(), Era::Modern, tasks()).await;
    let asks = |now: &TaskPayload| matches!(now, TaskPayload::InputRequired { .. });
    let TaskPayload::InputRequired { input_requests } = until(&second, &id, asks).await else {
        unreachable!()
    };
    let key = input_requests.into_keys().next().unwrap();
    let answer = serde_json::to_value(filled(json!({"decision": "approve"}))).unwrap();
    let odd = ("odd".to_owned(), json!({}));
    let update = UpdateTaskParams::new(&id, [(key, answer), odd].into_iter().collect());
    second.service.peer().update_task(update).await.unwrap();
    let over = |now: &TaskPayload| matches!(now, TaskPayload::Completed { .. });
    until(&second, &id, over).await;
}

#[tokio::test]
async fn a_call_in_doubt_is_decided_through_the_client() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let first = slow(&store, &gate);
    let client = connect_with(&server(first.clone(), ""), Era::Modern, tasks()).await;
    let id = handed(&client).await;
    // The process stops while the call is running, so its outcome is unknown.
    first.engine.close().await;
    let second = server(slow(&store, &gate), "");
    let client = connect_with(&second, Era::Modern, tasks()).await;
    let asks = |now: &TaskPayload| matches!(now, TaskPayload::InputRequired { .. });
    let TaskPayload::InputRequired { input_requests } = until(&client, &id, asks).await else {
        unreachable!()
    };
    let (key, asked) = input_requests.into_iter().next().unwrap();
    let asked = serde_json::to_string(&asked).unwrap();
    assert!(
        asked.contains("t:slow") && asked.contains("abort"),
        "{asked}"
    );
    let answer = filled(json!({"decision": "skip", "result": "{\"b\": 2}"}));
    let answer = serde_json::to_value(answer).unwrap();
    let update = UpdateTaskParams::new(&id, [(key, answer)].into_iter().collect());
    client.service.peer().update_task(update).await.unwrap();
    let over = |now: &TaskPayload| matches!(now, TaskPayload::Completed { .. });
    let TaskPayload::Completed { result } = until(&client, &id, over).await else {
        unreachable!()
    };
    assert_eq!(result["structuredContent"], json!({"b": 2}));
}

#[tokio::test]
async fn requests_about_tasks_are_in_the_audit() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let services = slow(&store, &gate);
    let client = connect_with(&server(services.clone(), ""), Era::Modern, tasks()).await;
    let id = handed(&client).await;
    let peer = client.service.peer();
    peer.update_task(UpdateTaskParams::new(&id, Default::default()))
        .await
        .unwrap();
    peer.cancel_task(CancelTaskParams::new(&id)).await.unwrap();
    let notes = services
        .engine
        .audit_notes(0, Some(&id.parse().unwrap()))
        .await
        .unwrap();
    let told: Vec<_> = notes
        .iter()
        .map(|note| {
            (
                note["command"].as_str().unwrap(),
                &note["door"],
                &note["by"],
            )
        })
        .collect();
    let (door, by) = (json!("mcp"), json!("agent test"));
    assert_eq!(
        told,
        [("tasks/update", &door, &by), ("tasks/cancel", &door, &by)]
    );
}

/// Requests about a task that the caller cannot see are recorded, too.
#[tokio::test]
async fn requests_about_unknown_tasks_are_in_the_audit() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let services = slow(&store, &gate);
    let client = connect_with(&server(services.clone(), ""), Era::Modern, tasks()).await;
    let id = "run_01m7p65xffqb849x7dtybs7qzf";
    let peer = client.service.peer();
    let update = UpdateTaskParams::new(id, Default::default());
    peer.update_task(update).await.unwrap_err();
    let cancel = CancelTaskParams::new(id);
    peer.cancel_task(cancel).await.unwrap_err();
    let notes = services.engine.audit_notes(0, None).await.unwrap();
    let told: Vec<_> = notes
        .iter()
        .map(|note| (&note["command"], &note["result"], &note["run_id"]))
        .collect();
    let (refused, run) = (json!("refused"), json!(id));
    assert_eq!(
        told,
        [
            (&json!("tasks/update"), &refused, &run),
            (&json!("tasks/cancel"), &refused, &run)
        ]
    );
}

#[tokio::test]
async fn who_does_not_know_tasks_waits() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(1)));
    for era in ERAS {
        gate.add_permits(1);
        let client = connect(&server(slow(&store, &gate), ""), era).await;
        let result = client.call("slow", json!({"a": 2})).await;
        assert_eq!(super::support::structured(&result), &json!({"a": 2}));
        let refused = client
            .service
            .peer()
            .get_task(GetTaskParams::new("run_x"))
            .await;
        assert!(refused.is_err());
    }
}
