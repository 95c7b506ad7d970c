//! The control toolset as an agent uses it: layers, decisions, replans, aborts.

use super::support::{Client, ERAS, Era, connect, over, structured};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tramline_engine::EngineOptions;
use tramline_engine::ports::{RunFilter, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;
use tramline_workflow::failure::{Failure, FailureKind};

mod concurrent_commands;
mod decisions;
mod flaws;
mod intents;
mod journal_reads;
mod ownership;
mod racing;
mod replies;
mod scale;

/// Only reads.
const SAFE: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

/// `echo` returns its arguments, `fail` fails, `drop` is destructive, `hold` waits to be released.
pub(super) fn tools(gate: &Arc<Semaphore>, held: &Arc<AtomicUsize>) -> FakeTools {
    let destroys = ToolHints {
        destructive: Some(true),
        ..ToolHints::default()
    };
    let (gate, waiting) = (Arc::clone(gate), Arc::clone(held));
    FakeTools::new()
        .tool("t", "echo", SAFE, |arguments| async { Ok(arguments) })
        .tool("t", "fail", SAFE, |_| async {
            Err(Failure::new(FailureKind::Tool, "no such thing"))
        })
        .tool("t", "drop", destroys, |arguments| async { Ok(arguments) })
        .tool("t", "hold", SAFE, move |arguments: Value| {
            let gate = Arc::clone(&gate);
            waiting.fetch_add(1, Ordering::AcqRel);
            async move {
                let held = gate.acquire().await;
                held.map(|permit| permit.forget()).ok();
                Ok(arguments)
            }
        })
}

/// A store, and the gate that releases `hold`.
pub(super) struct ControlFixture {
    pub(super) store: MemoryStore,
    pub(super) gate: Arc<Semaphore>,
    held_calls: Arc<AtomicUsize>,
}

impl ControlFixture {
    pub(super) fn new() -> Self {
        Self {
            store: MemoryStore::default(),
            gate: Arc::new(Semaphore::new(0)),
            held_calls: Arc::default(),
        }
    }

    /// Number of `hold` calls that have started.
    pub(super) fn held_calls(&self) -> usize {
        self.held_calls.load(Ordering::Acquire)
    }

    /// Waits until this many `hold` calls have started.
    pub(super) async fn until_held(&self, count: usize) {
        while self.held_calls() < count {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn tools(&self) -> FakeTools {
        tools(&self.gate, &self.held_calls)
    }

    pub(super) fn services(&self) -> Services {
        let (store, tools) = (self.store.process(), self.tools());
        Services::new(Arc::new(store), Arc::new(tools), EngineOptions::default())
    }

    /// A server as another process would start it.
    pub(super) fn server(&self) -> Server {
        over(self.services(), &[Toolset::Control, Toolset::Debug], vec![])
    }

    pub(super) async fn client(&self, era: Era) -> Client {
        connect(&self.server(), era).await
    }
}

/// Calls a tool that must succeed.
pub(super) async fn call(client: &Client, tool: &str, arguments: Json) -> Json {
    let result = client.call(tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    structured(&result).clone()
}

/// Calls a tool that must be rejected.
pub(super) async fn call_rejected(client: &Client, tool: &str, arguments: Json) -> Json {
    let result = client.call(tool, arguments).await;
    assert_eq!(result.is_error, Some(true), "{result:?}");
    structured(&result)["error"].clone()
}

/// Two parallel tasks, one that needs both, and one after that.
pub(super) fn diamond() -> Json {
    json!({"tasks": [
        {"id": "a", "tool": "t:echo", "arguments": {"n": 1}},
        {"id": "b", "tool": "t:echo", "arguments": {"n": 2}, "depends_on": []},
        {"id": "c", "tool": "t:echo", "arguments": {"sum": {"expr": "a.n + b.n"}}, "dependsOn": ["a", "b"]},
        {"id": "d", "tool": "t:echo", "arguments": {"got": "$OUTPUT[c].sum", "says": "it is $OUTPUT[c].sum"}}
    ]})
}

pub(super) fn layered(workflow: Json) -> Json {
    json!({"workflow": workflow, "config": {"per_layer_validation": true}})
}

fn ids(results: &Json) -> Vec<&str> {
    let results = results.as_array().unwrap();
    results
        .iter()
        .map(|one| one["task_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn without_validation_all_results_come_at_once() {
    for era in ERAS {
        let client = ControlFixture::new().client(era).await;
        let done = call(&client, "execute_dag", json!({"workflow": diamond()})).await;
        assert_eq!(done["status"], "complete");
        assert!(done["workflow_id"].as_str().unwrap().starts_with("run_"));
        assert_eq!(ids(&done["results"]), ["a", "b", "c", "d"]);
        let last = &done["results"][3];
        assert_eq!(last["output"], json!({"got": 3, "says": "it is 3"}));
        assert_eq!(
            (&last["status"], &last["layer_index"]),
            (&json!("success"), &json!(2))
        );
        assert!(last["duration_ms"].is_number());
    }
}

#[tokio::test]
async fn layers_are_shown_one_by_one_whichever_process_answers() {
    for era in ERAS {
        let place = ControlFixture::new();
        let client = place.client(era).await;
        let first = call(&client, "execute_dag", layered(diamond())).await;
        assert_eq!(first["status"], "layer_complete");
        assert_eq!(
            (&first["layer_index"], &first["total_layers"]),
            (&json!(0), &json!(3))
        );
        assert_eq!(ids(&first["layer_results"]), ["a", "b"]);
        assert_eq!(
            first["next_layer"],
            json!([{"task_id": "c", "tool": "t:echo"}])
        );
        assert_eq!(first["options"], json!(["continue", "replan", "abort"]));
        let id = &first["workflow_id"];
        let client = place.client(era).await;
        let go = json!({"workflow_id": id, "reason": "looks right"});
        let second = call(&client, "continue", go.clone()).await;
        assert_eq!(
            (&second["status"], &second["layer_index"]),
            (&json!("layer_complete"), &json!(1))
        );
        assert_ne!(first["checkpoint_id"], second["checkpoint_id"]);
        let client = place.client(era).await;
        let stale = json!({"workflow_id": id, "checkpoint_id": first["checkpoint_id"]});
        let stale = call_rejected(&client, "continue", stale).await;
        assert_eq!(stale["code"], -32602);
        assert_eq!(stale["data"]["checkpoint_id"], second["checkpoint_id"]);
        let done = call(&client, "continue", go.clone()).await;
        assert_eq!(done["status"], "complete");
        assert_eq!(ids(&done["results"]), ["a", "b", "c", "d"]);
        let over = call_rejected(&client, "continue", go).await;
        assert!(
            over["message"].as_str().unwrap().contains("has ended"),
            "{over}"
        );
    }
}

#[tokio::test]
async fn a_failure_takes_down_only_what_depends_on_it() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let dag = json!([
        {"id": "bad", "tool": "t:fail"},
        {"id": "next", "tool": "t:echo", "depends_on": ["bad"]},
        {"id": "last", "tool": "t:echo", "depends_on": ["next"]},
        {"id": "good", "tool": "t:echo", "arguments": {"x": 1}}
    ]);
    for validated in [false, true] {
        let config = json!({"per_layer_validation": validated});
        let mut done = call(
            &client,
            "execute_dag",
            json!({"workflow": dag, "config": config}),
        )
        .await;
        if validated {
            assert_eq!(done["status"], "layer_complete", "{done}");
            let go = json!({"workflow_id": done["workflow_id"]});
            done = call(&client, "continue", go).await;
        }
        assert_eq!(done["status"], "complete", "{done}");
        let states: Vec<_> = done["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["status"])
            .collect();
        assert_eq!(states, ["error", "skipped", "skipped", "success"]);
        assert_eq!(done["results"][0]["error"], "no such thing");
        assert!(
            done["results"][1]["error"]
                .as_str()
                .unwrap()
                .contains("bad")
        );
    }
}

#[tokio::test]
async fn tasks_are_added_between_layers_and_see_what_is_done() {
    for era in ERAS {
        let place = ControlFixture::new();
        let client = place.client(era).await;
        let first = call(&client, "execute_dag", layered(diamond())).await;
        let id = &first["workflow_id"];
        let new = json!([
            {"id": "x", "tool": "t:echo", "arguments": {"from": "$OUTPUT[a].n"}},
            {"id": "y", "tool": "t:echo", "arguments": {}, "depends_on": ["x", "d"]}
        ]);
        let more = json!({"workflow_id": id, "new_requirement": "look closer", "new_tasks": new});
        let client = place.client(era).await;
        let replanned = call(&client, "replan", more).await;
        assert_eq!(replanned["status"], "replanned");
        assert_eq!(replanned["new_tasks"], new);
        assert_eq!(replanned["options"], json!(["continue", "abort"]));
        let client = place.client(era).await;
        let second = call(&client, "continue", json!({"workflow_id": id})).await;
        assert_eq!(ids(&second["layer_results"]), ["c", "x"]);
        assert_eq!(second["layer_results"][1]["output"], json!({"from": 1}));
        assert_eq!(second["total_layers"], 4);
        let third = call(&client, "continue", json!({"workflow_id": id})).await;
        assert_eq!(ids(&third["next_layer"]), ["y"]);
        let done = call(&client, "continue", json!({"workflow_id": id})).await;
        assert_eq!(ids(&done["results"]), ["a", "b", "c", "d", "x", "y"]);
        assert_eq!(done["results"][5]["layer_index"], 3);
    }
}

#[tokio::test]
async fn an_abort_gives_what_there_is_and_nothing_goes_on_after_it() {
    let place = ControlFixture::new();
    let client = place.client(Era::Legacy).await;
    let first = call(&client, "execute_dag", layered(diamond())).await;
    let id = &first["workflow_id"];
    let second = call(&client, "continue", json!({"workflow_id": id})).await;
    let client = place.client(Era::Modern).await;
    let end = json!({"workflow_id": second["workflow_id"], "reason": "validation failed"});
    let aborted = call(&client, "abort", end.clone()).await;
    assert_eq!(aborted["status"], "aborted");
    assert_eq!(
        (&aborted["completed_layers"], &aborted["reason"]),
        (&json!(2), &json!("validation failed"))
    );
    assert_eq!(ids(&aborted["partial_results"]), ["a", "b", "c"]);
    for (tool, arguments) in [
        ("abort", end),
        ("continue", json!({"workflow_id": id})),
        (
            "replan",
            json!({"workflow_id": id, "new_requirement": "x", "new_tasks": [{"id": "z", "tool": "t:echo"}]}),
        ),
    ] {
        let error = call_rejected(&client, tool, arguments).await;
        assert_eq!(error["code"], -32602, "{error}");
        assert_eq!(error["data"]["status"], "aborted", "{error}");
    }
}

#[tokio::test]
async fn an_abort_names_the_call_that_may_have_happened() {
    let (sent, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (started, held) = (Arc::clone(&sent), Arc::clone(&gate));
    let tools = FakeTools::new().tool("t", "pay", ToolHints::default(), move |given: Value| {
        started.add_permits(1);
        let gate = Arc::clone(&held);
        async move {
            gate.acquire().await.map(|permit| permit.forget()).ok();
            Ok(given)
        }
    });
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools), EngineOptions::default());
    let engine = services.engine.clone();
    let server = over(services, &[Toolset::Control], vec![]);
    let (one, two) = (
        connect(&server, Era::Modern).await,
        connect(&server, Era::Modern).await,
    );
    let dag = json!({"tasks": [{"id": "a", "tool": "t:pay", "arguments": {"n": 1}}]});
    let abort = async {
        sent.acquire().await.unwrap().forget();
        let rows = engine.runs(RunFilter::default()).await.unwrap().rows;
        let end = json!({"workflow_id": rows[0].run.as_str(), "reason": "r"});
        call(&two, "abort", end).await
    };
    let (ended, aborted) = tokio::join!(call(&one, "execute_dag", layered(dag)), abort);
    for told in [ended, aborted] {
        assert_eq!(told["status"], "aborted", "{told}");
        let calls = json!([{"node": "a", "tool": "t:pay"}]);
        assert_eq!(told["may_have_happened"], calls, "{told}");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("`a`"), "{message}");
    }
}

#[tokio::test]
async fn parameters_are_no_layer() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let dag = json!({"tasks": [
        {"id": "a", "tool": "t:echo", "arguments": {"n": {"type": "parameter", "name": "n"}}},
        {"id": "b", "tool": "t:echo", "arguments": {"m": "$OUTPUT[a].n"}}
    ]});
    let mut arguments = layered(dag);
    arguments["parameters"] = json!({"n": 7});
    let first = call(&client, "execute_dag", arguments.clone()).await;
    assert_eq!(
        (&first["layer_index"], &first["total_layers"]),
        (&json!(0), &json!(2)),
        "{first}"
    );
    assert_eq!(first["layer_results"][0]["output"], json!({"n": 7}));
    let done = call(
        &client,
        "continue",
        json!({"workflow_id": first["workflow_id"]}),
    )
    .await;
    assert_eq!(done["results"][1]["output"], json!({"m": 7}));
    assert_eq!(done["results"][1]["layer_index"], 1);
    arguments.as_object_mut().unwrap().remove("parameters");
    assert_eq!(
        call_rejected(&client, "execute_dag", arguments).await["code"],
        -32602
    );
}
