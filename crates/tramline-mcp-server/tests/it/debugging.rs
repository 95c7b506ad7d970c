//! The debug toolset as an agent uses it: break, step, answer, fork, replay, compare, test expressions.

use super::support::{Client, ERAS, connect, graph, over, structured, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::ports::Callable;
use tramline_engine::testing::{MemoryStore, hold_trial_slots};
use tramline_engine::{EngineOptions, ReplayStore, WorkflowMap};
use tramline_expr::Value;
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;

const NODES: &str = "
      - { id: entry, type: entry, next: look }
      - { id: look, type: mcp, server: t, tool: look, args: { n: $.entry.n }, next: twice }
      - { id: twice, type: transform, transform: { expr: '{\"n\": look.n * 2}' }, next: work }
      - { id: work, type: mcp, server: t, tool: work, args: { n: $.twice.n }, next: exit }
      - { id: exit, type: exit }
";

fn server() -> Server {
    let graph = graph("double", NODES);
    let shelf = WorkflowMap::new([Callable {
        graph: Arc::clone(&graph),
        origin: Value::Null,
    }]);
    let options = EngineOptions {
        replay_store: Some(ReplayStore::new(|| Ok(Arc::new(MemoryStore::new())))),
        ..EngineOptions::default()
    };
    let (store, tools) = (Arc::new(MemoryStore::new()), Arc::new(tools()));
    let services = Services::with_workflows(store, tools, Arc::new(shelf), options);
    over(services, &Toolset::ALL, vec![graph])
}

/// Calls a tool that must succeed.
async fn call(client: &Client, tool: &str, arguments: Json) -> Json {
    let result = client.call(tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    structured(&result).clone()
}

#[tokio::test]
async fn a_run_is_halted_stepped_and_set_free() {
    for era in ERAS {
        let client = connect(&server(), era).await;
        let start = json!({
            "command": "start", "workflow": "double", "input": {"n": 21},
            "breakpoints": [{"node": "twice", "condition": "look.n = 21"}, {"node": "look", "condition": "false"}]
        });
        let halted = call(&client, "run_debug", start).await;
        assert_eq!(halted["status"], "paused");
        assert_eq!(halted["waiting"][0]["node"], "twice");
        assert_eq!(halted["outputs"]["look"], json!({"n": 21}));
        let run = &halted["run_id"];
        let stepped = call(
            &client,
            "run_debug",
            json!({"command": "step", "run_id": run}),
        )
        .await;
        assert_eq!(stepped["waiting"][0]["node"], "work");
        assert_eq!(stepped["outputs"]["twice"], json!({"n": 42}));
        let ended = call(
            &client,
            "run_debug",
            json!({"command": "continue", "run_id": run}),
        )
        .await;
        assert_eq!(
            (&ended["status"], &ended["result"]),
            (&json!("completed"), &json!({"n": 42}))
        );
        let read = call(&client, "run_read", json!({"run_id": run})).await;
        assert_eq!(read["steps"].as_array().unwrap().len(), 5);
        let then = call(&client, "run_read", json!({"run_id": run, "at_step": 2})).await;
        assert_eq!(
            then["outputs"],
            json!({"entry": {"n": 21}, "look": {"n": 21}})
        );
    }
}

#[tokio::test]
async fn a_run_is_forked_answered_replayed_and_compared() {
    for era in ERAS {
        let client = connect(&server(), era).await;
        let start = json!({"command": "start", "workflow": "double", "input": {"n": 1}});
        let first = call(&client, "run_debug", start).await["run_id"].clone();
        let fork = json!({"run_id": first, "at_step": 2, "output": {"n": 5}});
        let forked = call(&client, "run_fork", fork).await;
        assert_eq!(
            forked["effects"],
            json!([{"node": "work", "tool": "t:work"}])
        );
        assert_eq!(forked["waiting"][0]["kind"], "effect");
        let point = &forked["waiting"][0]["checkpoint_id"];
        let yes = json!({"checkpoint_id": point, "answer": "proceed", "why": "a test"});
        let done = call(&client, "run_answer", yes.clone()).await;
        assert_eq!(done["result"], json!({"n": 10}));
        let late = client.call("run_answer", yes).await;
        assert_eq!(late.is_error, Some(true));
        let both = json!({"first": first, "second": done["run_id"]});
        let compared = call(&client, "runs_compare", both).await;
        assert_eq!(compared["same"], false);
        assert_eq!(compared["outcome"][0]["at"], "/result/n");
        let again = call(
            &client,
            "run_replay",
            json!({"run_id": first, "workflow": "double"}),
        )
        .await;
        assert_eq!(again["same"], true, "{again}");
    }
}

#[tokio::test]
async fn expressions_are_tried_over_values_and_runs() {
    for era in ERAS {
        let client = connect(&server(), era).await;
        let plain = json!({"expression": "$sum(a)", "context": {"a": [1, 2]}, "explain": true});
        let tried = call(&client, "expression_test", plain).await;
        assert_eq!(
            (&tried["value"], &tried["defined"]),
            (&json!(3), &json!(true))
        );
        assert!(tried["explanation"]["children"].is_array(), "{tried}");
        let rule = json!({"rule": {">": [{"var": "a"}, 1]}, "context": {"a": 2}});
        assert_eq!(call(&client, "expression_test", rule).await["value"], true);
        let wrong = call(&client, "expression_test", json!({"expression": "1 +"})).await;
        assert_eq!(wrong["valid"], false);
        assert!(wrong["error"]["position"].is_number(), "{wrong}");
        let start = json!({"command": "start", "workflow": "double", "input": {"n": 3}});
        let run = call(&client, "run_debug", start).await["run_id"].clone();
        let over = json!({"expression": "$previousNode().n + $executionCount('look')", "run_id": run, "at_step": 3});
        assert_eq!(call(&client, "expression_test", over).await["value"], 7);
        let neither = client.call("expression_test", json!({})).await;
        assert_eq!(neither.is_error, Some(true));
    }
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let client = connect(&server(), ERAS[0]).await;
    for (tool, arguments, says) in [
        (
            "run_debug",
            json!({"command": "start", "workflow": "duoble"}),
            "did you mean `double`",
        ),
        ("run_debug", json!({"command": "start"}), "workflow"),
        (
            "run_debug",
            json!({"command": "step", "run_id": "run_x"}),
            "run run_x not found",
        ),
        ("run_read", json!({"run_id": "../x"}), "is not a run id"),
        (
            "run_answer",
            json!({"checkpoint_id": "x", "answer": "skip"}),
            "checkpoint",
        ),
    ] {
        let refused = client.call(tool, arguments).await;
        assert_eq!(refused.is_error, Some(true));
        let message = structured(&refused)["error"]["message"].to_string();
        assert!(message.contains(says), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_of_expressions_wait_for_a_core_and_nothing_else_does() {
    let client = Arc::new(connect(&server(), ERAS[1]).await);
    let held = hold_trial_slots().await;
    assert!(held.is_some());
    let trial = |expression: &'static str| {
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            call(
                &client,
                "expression_test",
                json!({"expression": expression}),
            )
            .await
        })
    };
    let all: Vec<_> = (0..20).map(|_| trial("1 + 1")).collect();
    // Everything else is answered meanwhile.
    for _ in 0..20 {
        call(&client, "runs_list", json!({})).await;
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
    assert!(all.iter().all(|one| !one.is_finished()));
    drop(held);
    for one in all {
        assert_eq!(one.await.unwrap()["value"], 2);
    }
}
