//! Runs that outlast a call: started detached, awaited for a bounded time, answered, cancelled.

use super::support::{
    Client, ERAS, Era, approving, calling, connect, connect_with, filled, forms, graph, pure,
    request, services, serving, structured,
};
use rmcp::model::{CallToolResponse, ClientCapabilities};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_mcp_server::{Server, ServerDescription, ServerOptions, Toolset};

const RUNS: &[Toolset] = &[Toolset::Graphs, Toolset::Runs];

/// A server whose tool waits to be released.
fn slow(store: &MemoryStore, gate: &Arc<Semaphore>, call_wait: Duration) -> Server {
    let gate = Arc::clone(gate);
    let tools = FakeTools::new().tool("t", "slow", ToolHints::default(), move |given: Value| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok(given)
        }
    });
    let options = ServerOptions {
        call_wait,
        ..ServerOptions::default()
    };
    let graphs = [(calling("slow", "slow", ""), Value::Null)];
    let services = services(store.clone(), tools);
    Server::with_options(
        services,
        ServerDescription::default(),
        RUNS,
        graphs,
        options,
    )
    .unwrap()
}

async fn told(client: &Client, tool: &str, arguments: Json) -> Json {
    let reply = client.call(tool, arguments).await;
    assert_ne!(reply.is_error, Some(true), "{reply:?}");
    structured(&reply).clone()
}

async fn refused(client: &Client, tool: &str, arguments: Json) -> Json {
    let reply = client.call(tool, arguments).await;
    assert_eq!(reply.is_error, Some(true), "{reply:?}");
    structured(&reply)["error"].clone()
}

#[tokio::test]
async fn a_run_is_started_awaited_and_found_again_by_its_key() {
    for era in ERAS {
        let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
        let wait = Duration::from_millis(20);
        let first = connect(&slow(&store, &gate, wait), era).await;
        let asked = json!({"workflow": "slow", "arguments": {"a": 1}, "key": "order-7"});
        let started = told(&first, "run_start", asked.clone()).await;
        assert_eq!(
            (&started["status"], &started["is_new"]),
            (&json!("running"), &json!(true))
        );
        let run = started["run_id"].clone();
        let waits = told(&first, "run_await", json!({"run_id": run})).await;
        assert_eq!(waits["status"], "running", "{waits}");
        assert!(waits["next"].as_str().unwrap().contains("run_await"));
        assert_eq!(waits["progress"], "at act");

        // Another server over the same store.
        let second = connect(&slow(&store, &gate, wait), era).await;
        let again = told(&second, "run_start", asked.clone()).await;
        assert_eq!((&again["run_id"], &again["is_new"]), (&run, &json!(false)));
        let mut other = asked;
        other["arguments"]["a"] = json!(2);
        let reused = refused(&second, "run_start", other).await;
        assert_eq!(reused["data"]["run_id"], run, "{reused}");

        gate.add_permits(1);
        let ended = told(
            &second,
            "run_await",
            json!({"run_id": run, "wait_seconds": 55}),
        )
        .await;
        assert_eq!(
            (&ended["status"], &ended["result"]),
            (&json!("completed"), &json!({"a": 1}))
        );
        assert!(ended.get("next").is_none());
    }
}

#[tokio::test]
async fn a_call_that_lasts_is_handed_over_to_run_await() {
    for era in ERAS {
        let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
        let client = connect(&slow(&store, &gate, Duration::from_millis(20)), era).await;
        let handed = told(&client, "slow", json!({"a": 1})).await;
        assert_eq!(handed["status"], "running");
        gate.add_permits(1);
        let ended = told(
            &client,
            "run_await",
            json!({"run_id": handed["run_id"], "wait_seconds": 55}),
        )
        .await;
        assert_eq!(ended["result"], json!({"a": 1}));
        // A short call is answered directly.
        gate.add_permits(1);
        assert_eq!(
            told(&client, "slow", json!({"a": 2})).await,
            json!({"a": 2})
        );
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_the_run() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let server = slow(&store, &gate, Duration::from_secs(50));
    let client = connect(&server, Era::Modern).await;
    let run = told(&client, "run_start", json!({"workflow": "slow"})).await["run_id"].clone();
    let waiting = client
        .service
        .call_tool(request("run_await", json!({"run_id": run})));
    let gone = tokio::time::timeout(Duration::from_millis(50), waiting).await;
    assert!(gone.is_err());
    drop(client);
    gate.add_permits(1);
    let next = connect(&server, Era::Legacy).await;
    let ended = told(
        &next,
        "run_await",
        json!({"run_id": run, "wait_seconds": 55}),
    )
    .await;
    assert_eq!(ended["status"], "completed", "{ended}");
}

#[tokio::test]
async fn a_question_comes_back_and_its_answer_is_awaited() {
    for era in ERAS {
        let client = connect(&serving(RUNS, vec![approving("act")]), era).await;
        let asked = json!({"workflow": "act", "arguments": {"a": 1}});
        let run = told(&client, "run_start", asked).await["run_id"].clone();
        let paused = told(&client, "run_await", json!({"run_id": run})).await;
        assert_eq!(paused["status"], "paused", "{paused}");
        let point = paused["waiting"][0]["checkpoint_id"].clone();
        let known = json!({"run_id": run, "checkpoint_id": point, "wait_seconds": 0.05});
        let open = told(&client, "run_await", known).await;
        assert_eq!(open["status"], "paused");
        let answer = json!({"checkpoint_id": point, "answer": "approve"});
        told(&client, "run_answer", answer).await;
        let known = json!({"run_id": run, "checkpoint_id": point, "wait_seconds": 55});
        let ended = told(&client, "run_await", known).await;
        assert_eq!(
            (&ended["status"], &ended["result"]),
            (&json!("completed"), &json!({"a": 1}))
        );
    }
}

#[tokio::test]
async fn a_client_with_forms_gets_the_question_as_one() {
    let client = connect_with(&serving(RUNS, vec![approving("act")]), Era::Modern, forms()).await;
    let run = told(&client, "run_start", json!({"workflow": "act"})).await["run_id"].clone();
    let asked = client
        .service
        .call_tool_once(request("run_await", json!({"run_id": run})));
    let CallToolResponse::InputRequired(carried) = asked.await.unwrap() else {
        panic!("no question");
    };
    let key = carried.input_requests.unwrap().into_keys().next().unwrap();
    let answer = serde_json::to_value(filled(json!({"decision": "approve"}))).unwrap();
    let mut again = request("run_await", json!({"run_id": run}));
    again.request_state = carried.request_state;
    again.input_responses = Some([(key, answer)].into_iter().collect());
    let reply = client.service.call_tool_once(again).await.unwrap();
    let CallToolResponse::Complete(reply) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(structured(&reply)["status"], "completed", "{reply:?}");
}

#[tokio::test]
async fn a_run_is_cancelled() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let client = connect(&slow(&store, &gate, Duration::from_secs(50)), Era::Modern).await;
    let run = told(&client, "run_start", json!({"workflow": "slow"})).await["run_id"].clone();
    for _ in 0..2 {
        let ended = told(
            &client,
            "run_cancel",
            json!({"run_id": run, "why": "no longer needed"}),
        )
        .await;
        assert_eq!(ended["status"], "aborted", "{ended}");
    }
}

#[tokio::test]
async fn only_what_is_served_is_started() {
    let nodes = super::support::THROUGH;
    for era in ERAS {
        let client = connect(&serving(RUNS, vec![pure("one"), graph("two", nodes)]), era).await;
        let error = refused(&client, "run_start", json!({"workflow": "tow"})).await;
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("did you mean `two`"),
            "{error}"
        );
        let document = json!({"ir_version": "0.1.0", "nodes": [], "edges": []});
        let error = refused(&client, "run_start", json!({"workflow": document})).await;
        assert!(
            error["message"].as_str().unwrap().contains("not served"),
            "{error}"
        );
        let wrong = refused(
            &client,
            "run_await",
            json!({"run_id": "run_00000000000000000000000000"}),
        )
        .await;
        assert_eq!(wrong["code"], -32001);
        let long = refused(
            &client,
            "run_await",
            json!({"run_id": "run_x", "wait_seconds": 56}),
        )
        .await;
        assert!(
            long["message"].as_str().unwrap().contains("/wait_seconds"),
            "{long}"
        );
    }
    let documents = &[Toolset::Library, Toolset::Runs];
    let client = connect(&serving(documents, vec![]), Era::Modern).await;
    let document = json!({"version": "1.0", "server": {"name": "s", "version": "1"}, "tools": [{"name": "go",
        "description": "d", "inputSchema": {"type": "object"}, "nodes": [
            {"id": "entry", "type": "entry", "next": "exit"}, {"id": "exit", "type": "exit"}]}]});
    let started = told(
        &client,
        "run_start",
        json!({"workflow": document, "arguments": {"a": 1}}),
    )
    .await;
    let ended = told(&client, "run_await", json!({"run_id": started["run_id"]})).await;
    assert_eq!(ended["result"], json!({"a": 1}), "{ended}");
}

#[tokio::test]
async fn a_session_hides_its_runs() {
    let client = connect(&serving(RUNS, vec![pure("one")]), Era::Modern).await;
    let started = json!({"workflow": "one", "session_id": "s", "key": "k"});
    let run = told(&client, "run_start", started).await["run_id"].clone();
    let hidden = refused(&client, "run_await", json!({"run_id": run})).await;
    assert_eq!(hidden["code"], -32001, "{hidden}");
    told(
        &client,
        "run_await",
        json!({"run_id": run, "session_id": "s"}),
    )
    .await;
    // The same key outside of the session is another run.
    let other = told(&client, "run_start", json!({"workflow": "one", "key": "k"})).await;
    assert_ne!(other["run_id"], run);
}

#[tokio::test]
async fn clients_with_tasks_still_get_tasks() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let tasks = ClientCapabilities::builder().enable_tasks().build();
    let server = slow(&store, &gate, Duration::from_secs(50));
    let client = connect_with(&server, Era::Modern, tasks).await;
    let called = client.service.call_tool_once(request("slow", json!({})));
    let CallToolResponse::Task(created) = called.await.unwrap() else {
        panic!("no task");
    };
    gate.add_permits(1);
    let run = created.task.task_id;
    let ended = told(
        &client,
        "run_await",
        json!({"run_id": run, "wait_seconds": 55}),
    )
    .await;
    assert_eq!(ended["status"], "completed");
}
