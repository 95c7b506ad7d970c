//! Where a procedure is pinned, its gate also holds for tasks, submitted plans, halted runs, forks and
//! child runs: for each call at the moment it is sent, not for the run when it started.

use super::super::support::{Client, Era, connect, connect_with, request};
use super::call_sop;
use super::pinned::{PinnedFixture, dag, move_to};
use rmcp::model::{
    CallToolResponse, ClientCapabilities, GetTaskParams, TaskPayload, UpdateTaskParams,
};
use serde_json::{Value as Json, json};
use tramline_workflow::ids::RunId;

fn tasks() -> ClientCapabilities {
    ClientCapabilities::builder()
        .enable_elicitation()
        .enable_tasks()
        .build()
}

/// Calls a tool as a client that knows tasks; returns all that it is told until the task rests.
async fn to_rest(client: &Client, tool: &str, arguments: Json) -> (String, Option<String>) {
    let called = client
        .service
        .call_tool_once(request(tool, arguments))
        .await;
    let created = match called {
        Ok(CallToolResponse::Task(created)) => created.task.task_id,
        other => return (format!("{other:?}"), None),
    };
    loop {
        let state = client
            .service
            .peer()
            .get_task(GetTaskParams::new(&created))
            .await
            .unwrap();
        if state.task.payload != TaskPayload::Working {
            return (format!("{:?}", state.task.payload), Some(created));
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_task_is_held_like_any_other_call() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect_with(&server, Era::Modern, tasks()).await;
    for stage in ["before", "at the beginning"] {
        for (tool, arguments) in [
            ("pay_now", json!({})),
            ("execute_dag", dag("t:pay")),
            (
                "registry_run",
                json!({"node_type": "t:pay", "parameters": {"sum": 7}}),
            ),
        ] {
            let (told, _) = to_rest(&client, tool, arguments).await;
            assert_eq!(place.paid(), 0, "{stage}: {tool}: {told}");
            assert!(
                told.contains("load_graph") || told.contains("PAY"),
                "{stage}: {tool}: {told}"
            );
        }
        call_sop(&client, "load_graph", json!({})).await;
        call_sop(&client, "advance", json!({})).await;
    }
}

#[tokio::test]
async fn a_submitted_plan_is_held_until_its_node_is_reached() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let told = call_sop(&client, "execute_dag", json!({"intent": "pay 7"})).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    let plan = json!([{"id": "a", "tool": "t:pay", "args": {"sum": 7}}]);
    let given = json!({"handle": told["handle"], "plan": plan});
    let refused = call_sop(&client, "submit_plan", given.clone()).await;
    assert_eq!(place.paid(), 0, "{refused}");
    assert!(refused.to_string().contains("load_graph"), "{refused}");
    // Another intent from the node that allows it.
    move_to(&client, "PAY").await;
    let told = call_sop(&client, "execute_dag", json!({"intent": "pay 7"})).await;
    let given = json!({"handle": told["handle"], "plan": plan});
    // The session moves on before the plan comes.
    call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
    let refused = call_sop(&client, "submit_plan", given).await;
    assert_eq!(place.paid(), 0, "{refused}");
    // A tool that no node lists, and one of another server with the same name.
    for tool in ["t:wipe", "evil:identify"] {
        let told = call_sop(&client, "execute_dag", json!({"intent": "pay 7"})).await;
        let plan = json!([{"id": "a", "tool": tool, "args": {}}]);
        let given = json!({"handle": told["handle"], "plan": plan});
        let refused = call_sop(&client, "submit_plan", given).await;
        let done = &refused["results"][0];
        assert_eq!(done["status"], "error", "{tool}: {refused}");
        assert!(done.to_string().contains("not allowed"), "{refused}");
    }
}

#[tokio::test]
async fn a_halted_run_is_checked_when_it_continues() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    for resume in ["continue", "step", "run_answer"] {
        move_to(&client, "PAY").await;
        let start =
            json!({"command": "start", "workflow": "pay_now", "input": {}, "breakpoints": ["pay"]});
        let halted = call_sop(&client, "run_debug", start).await;
        assert_eq!(halted["status"], "paused", "{halted}");
        call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
        let told = match resume {
            "run_answer" => {
                let point = halted["waiting"][0]["checkpoint_id"].clone();
                let answer = json!({"checkpoint_id": point, "answer": "proceed"});
                call_sop(&client, "run_answer", answer).await
            }
            command => {
                let resume = json!({"command": command, "run_id": halted["run_id"]});
                call_sop(&client, "run_debug", resume).await
            }
        };
        assert_eq!(place.paid(), 0, "{resume}: {told}");
        assert!(told.to_string().contains("PAY"), "{resume}: {told}");
    }
}

#[tokio::test]
async fn forks_and_children_of_an_allowed_run_are_held_where_the_session_is_now() {
    let place = PinnedFixture::default();
    let (services, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    move_to(&client, "PAY").await;
    let paid = call_sop(&client, "execute_dag", dag("t:pay")).await;
    assert_eq!((place.paid(), &paid["status"]), (1, &json!("complete")));
    // A run of the node whose task waits for the agent's own question.
    let mut asks = dag("t:pay");
    asks["workflow"]["tasks"][0]["approval"] = json!(true);
    let asked = call_sop(&client, "execute_dag", asks).await;
    assert_eq!(asked["status"], "approval_required", "{asked}");
    let child =
        json!({"nodes": [{"id": "c", "type": "workflow", "params": {"workflow": "pay_now"}}]});
    call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
    // Each of them would pay again.
    for (tool, arguments) in [
        ("workflow_execute", json!({"workflow": child})),
        (
            "approval_response",
            json!({"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": true}),
        ),
        (
            "run_fork",
            json!({"run_id": paid["workflow_id"], "repeat_effects": true}),
        ),
        ("run_fork", json!({"run_id": paid["workflow_id"]})),
        (
            "run_fork",
            json!({"run_id": paid["workflow_id"], "at_step": 1, "repeat_effects": true}),
        ),
    ] {
        let told = call_sop(&client, tool, arguments.clone()).await;
        // A fork asks before it repeats a call, and the agent may relay that answer.
        let point = told["waiting"][0]["checkpoint_id"].clone();
        if let Some(point) = point.as_str() {
            let answer = json!({"checkpoint_id": point, "answer": "proceed"});
            call_sop(&client, "run_answer", answer).await;
        }
        if let Some(run) = told["run_id"].as_str().or(told["workflow_id"].as_str()) {
            let run: RunId = run.parse().unwrap();
            services.engine.load(&run).await.unwrap();
        }
        assert_eq!(place.paid(), 1, "{tool} {arguments}: {told}");
    }
}

#[tokio::test]
async fn a_task_that_waits_is_checked_when_it_is_answered() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect_with(&server, Era::Modern, tasks()).await;
    move_to(&client, "PAY").await;
    let mut asks = dag("t:pay");
    asks["workflow"]["tasks"][0]["approval"] = json!(true);
    let (told, task) = to_rest(&client, "execute_dag", asks).await;
    assert_eq!(place.paid(), 0, "{told}");
    let Some(task) = task else {
        // Answered without a task, so that nothing is left to be updated.
        assert!(
            told.contains("checkpoint_id") || told.contains("input"),
            "{told}"
        );
        return;
    };
    call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
    let state = client
        .service
        .peer()
        .get_task(GetTaskParams::new(&task))
        .await
        .unwrap();
    if let TaskPayload::InputRequired { input_requests } = state.task.payload {
        let answer = json!({"action": "accept", "content": {"decision": "approve"}});
        let answers = input_requests.into_keys().map(|key| (key, answer.clone()));
        let update = UpdateTaskParams::new(&task, answers.collect());
        client.service.peer().update_task(update).await.unwrap();
        let told = to_end(&client, &task).await;
        assert!(told.contains("PAY"), "{told}");
    }
    assert_eq!(place.paid(), 0);
}

async fn to_end(client: &Client, task: &str) -> String {
    loop {
        let get = client.service.peer().get_task(GetTaskParams::new(task));
        match get.await.unwrap().task.payload {
            TaskPayload::Working | TaskPayload::InputRequired { .. } => {
                tokio::task::yield_now().await;
            }
            ended => return format!("{ended:?}"),
        }
    }
}
