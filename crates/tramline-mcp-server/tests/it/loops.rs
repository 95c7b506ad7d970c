//! The loop toolset as an agent uses it: plans given, made, requested and submitted.

use super::support::{ERAS, connect, connect_with, filled, forms, structured};
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::EngineOptions;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore, ScriptedModel};
use tramline_expr::Value;
use tramline_mcp_server::{Server, ServerDescription, ServerOptions, Toolset};
use tramline_planner::Services;

const SAFE: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

const DESTROYS: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: None,
    open_world: None,
};

fn tools() -> FakeTools {
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
    FakeTools::new()
        .tool("t", "shout", SAFE, |given: Value| async move { Ok(given) })
        .described("t", "shout", "Shouts a text", schema)
        .tool(
            "t",
            "wipe",
            DESTROYS,
            |given: Value| async move { Ok(given) },
        )
}

/// A new server over a store.
fn server(store: &MemoryStore, model: Option<ScriptedModel>) -> Server {
    let services = Services::new(
        Arc::new(store.clone()),
        Arc::new(tools()),
        EngineOptions::default(),
    );
    let conduct = ServerOptions {
        model: model.map(|model| Arc::new(model) as _),
        ..ServerOptions::default()
    };
    let sets = [Toolset::Control, Toolset::Loop];
    Server::with_options(
        services,
        ServerDescription::default(),
        &sets,
        Vec::new(),
        conduct,
    )
    .unwrap()
}

fn say(text: &str) -> Json {
    json!({"messages": [{"role": "user", "content": text}]})
}

#[tokio::test]
async fn a_message_is_planned_done_and_told() {
    for era in ERAS {
        let store = MemoryStore::default();
        let client = connect(&server(&store, None), era).await;
        let done = client.call("run_loop", say("shout text 'hello'")).await;
        let done = structured(&done);
        assert_eq!(done["success"], true, "{done}");
        assert_eq!(done["planner"], "words");
        assert_eq!(done["data"]["context"]["shout"]["text"], "hello");
        let run = done["runId"].clone();
        let again = client.call("run_loop", json!({"runId": run})).await;
        assert_eq!(structured(&again)["data"], done["data"]);
    }
}

#[tokio::test]
async fn a_plan_is_asked_for_and_taken_after_a_restart() {
    let store = MemoryStore::default();
    for era in ERAS {
        let client = connect(&server(&store, None), era).await;
        let mut request = say("wake everybody up");
        request["sessionId"] = json!("s");
        let asked = client.call("run_loop", request).await;
        let asked = structured(&asked).clone();
        assert_eq!(asked["status"], "plan_request", "{asked}");
        assert_eq!(asked["success"], false);
        assert_eq!(asked["plan_request"]["tools"][0]["name"], "t:shout");
        let anew = connect(&server(&store, None), era).await;
        let bad =
            json!({"handle": asked["handle"], "plan": [{"tool": "t:shout", "args": {"text": 3}}]});
        let refused = anew.call("submit_plan", bad).await;
        assert_eq!(refused.is_error, Some(true));
        let details = structured(&refused)["error"]["details"][0]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(details.contains("/text"), "{details}");
        let good =
            json!({"handle": asked["handle"], "plan": [{"tool": "shout", "args": {"text": "up"}}]});
        let done = anew.call("submit_plan", good.clone()).await;
        assert_eq!(structured(&done)["data"]["context"]["step_1"]["text"], "up");
        assert_eq!(structured(&done)["planner"], "agent");
        let twice = anew.call("submit_plan", good).await;
        assert_eq!(twice.is_error, Some(true));
    }
}

#[tokio::test]
async fn a_dag_that_nobody_could_plan_is_submitted() {
    let store = MemoryStore::default();
    let client = connect(&server(&store, None), ERAS[0]).await;
    let told = client
        .call("execute_dag", json!({"intent": "wake everybody up"}))
        .await;
    let told = structured(&told).clone();
    assert_eq!(told["status"], "suggestion", "{told}");
    let anew = connect(&server(&store, None), ERAS[0]).await;
    let bad = json!({"handle": told["handle"], "plan": [{"tool": "t:scream", "args": {}}]});
    let refused = anew.call("submit_plan", bad).await;
    assert_eq!(refused.is_error, Some(true));
    assert_eq!(
        structured(&refused)["error"]["data"]["handle"],
        told["handle"]
    );
    let tasks = json!([{"id": "a", "tool": "t:shout", "arguments": {"text": "up"}, "depends_on": []},
        {"id": "b", "tool": "t:shout", "arguments": {"text": "$OUTPUT[a].text"}, "depends_on": ["a"]}]);
    let good = json!({"handle": told["handle"], "plan": tasks});
    let done = anew.call("submit_plan", good).await;
    assert_eq!(structured(&done)["status"], "complete");
    assert_eq!(structured(&done)["results"][1]["output"]["text"], "up");
}

#[tokio::test]
async fn a_workflow_that_nobody_could_extend_is_extended_by_submitting() {
    let store = MemoryStore::default();
    let client = connect(&server(&store, None), ERAS[0]).await;
    let task = |id: &str, after: &[&str]| json!({"id": id, "tool": "t:shout", "arguments": {"text": id}, "depends_on": after});
    let dag = json!({"workflow": {"tasks": [task("a", &[]), task("b", &["a"])]},
        "config": {"per_layer_validation": true}});
    let stands = client.call("execute_dag", dag).await;
    let id = structured(&stands)["workflow_id"].clone();
    let wish = json!({"workflow_id": id, "new_requirement": "wake everybody up"});
    let told = client.call("replan", wish).await;
    let handle = structured(&told)["handle"].clone();
    assert!(handle.is_string(), "{told:?}");
    let plan =
        json!({"handle": handle, "plan": [{"id": "c", "tool": "t:shout", "args": {"text": "c"}}]});
    let added = client.call("submit_plan", plan).await;
    assert_eq!(structured(&added)["status"], "replanned", "{added:?}");
    let done = client.call("continue", json!({"workflow_id": id})).await;
    let results = structured(&done)["results"].as_array().unwrap().len();
    assert_eq!(results, 3, "{done:?}");
}

#[tokio::test]
async fn a_model_plans_what_words_do_not() {
    let store = MemoryStore::default();
    let plan = r#"{"plan": [{"id": "s", "tool": "t:shout", "args": {"text": "up"}}]}"#;
    let client = connect(
        &server(&store, Some(ScriptedModel::new([plan, plan]))),
        ERAS[0],
    )
    .await;
    let done = client.call("run_loop", say("wake everybody up")).await;
    assert_eq!(structured(&done)["planner"], "model", "{done:?}");
    let done = client
        .call("execute_dag", json!({"intent": "wake everybody up"}))
        .await;
    assert_eq!(structured(&done)["status"], "complete", "{done:?}");
}

#[tokio::test]
async fn a_handle_belongs_to_its_session_of_questions_only() {
    let store = MemoryStore::default();
    let client = connect(&server(&store, None), ERAS[0]).await;
    for handle in ["plan_", "plan_00000000000000000000000000", "x", "../../etc"] {
        let plan = json!({"handle": handle, "plan": []});
        let refused = client.call("submit_plan", plan).await;
        assert_eq!(refused.is_error, Some(true));
    }
    let none = client.call("run_loop", json!({})).await;
    assert_eq!(none.is_error, Some(true));
}

#[tokio::test]
async fn what_a_plan_asks_is_put_to_the_clients_user() {
    for era in ERAS {
        let store = MemoryStore::default();
        let mut client = connect_with(&server(&store, None), era, forms()).await;
        let yes = || filled(json!({"decision": "approve"}));
        client.queue_answer(yes());
        client.queue_answer(yes());
        let mut request = say("clean up");
        request["plan"] =
            json!([{"tool": "t:wipe", "args": {"n": 1}}, {"tool": "t:wipe", "args": {"n": 2}}]);
        request["save_as"] = json!("clean-up");
        let done = client.call("run_loop", request.clone()).await;
        let done = structured(&done);
        assert_eq!(done["success"], true, "{era:?} {done}");
        assert_eq!(done["data"]["context"]["step_2"]["n"], 2);
        assert_eq!(done["saved"]["node_type"], "workflow:clean-up");
        client.next_question().await;
        client.next_question().await;
        client.queue_answer(filled(json!({"decision": "reject", "reason": "not now"})));
        let no = client.call("run_loop", request.clone()).await;
        assert_eq!(structured(&no)["status"], "rejected", "{era:?}");
        client.queue_answer(ElicitResult::new(ElicitationAction::Cancel));
        let closed = client.call("run_loop", request).await;
        let closed = structured(&closed);
        assert_eq!(closed["status"], "paused", "{era:?}");
        assert_eq!(closed["waiting"][0]["kind"], "approval");
        client.queue_answer(yes());
        client.queue_answer(yes());
        let later = json!({"runId": closed["runId"]});
        let done = client.call("run_loop", later).await;
        assert_eq!(structured(&done)["success"], true, "{era:?} {done:?}");
    }
}

#[tokio::test]
async fn what_a_submitted_plan_asks_is_put_to_the_clients_user() {
    for era in ERAS {
        let store = MemoryStore::default();
        let client = connect_with(&server(&store, None), era, forms()).await;
        let plan = json!([{"id": "w", "tool": "t:wipe", "args": {"n": 1}}]);
        for (tool, asking) in [
            ("run_loop", say("paint the fence")),
            ("execute_dag", json!({"intent": "paint the fence"})),
        ] {
            let asked = client.call(tool, asking).await;
            let handle = structured(&asked)["handle"].clone();
            client.queue_answer(filled(json!({"decision": "approve"})));
            let given = json!({"handle": handle, "plan": plan});
            let done = client.call("submit_plan", given).await;
            assert_eq!(
                structured(&done)["status"],
                "complete",
                "{era:?} {tool} {done:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_failed_plan_is_mended_by_the_agent() {
    for era in ERAS {
        let store = MemoryStore::default();
        let client = connect(&server(&store, None), era).await;
        let mut request = say("wake everybody up");
        request["plan"] = json!([{"id": "a", "tool": "t:shout", "args": {"text": "up"}},
            {"id": "b", "tool": "t:shout", "args": {}}]);
        let asked = client.call("run_loop", request).await;
        assert_eq!(asked.is_error, Some(false), "{asked:?}");
        let asked = structured(&asked);
        assert_eq!(asked["status"], "plan_request", "{asked}");
        assert_eq!(asked["plan_request"]["done"][0]["id"], "a");
        assert_eq!(asked["plan_request"]["failed"][0]["id"], "b");
        let patch = json!([{"id": "c", "tool": "t:shout", "args": {"text": "$OUTPUT[a].text"}}]);
        let given = json!({"handle": asked["handle"], "plan": patch});
        let done = client.call("submit_plan", given).await;
        let done = structured(&done);
        assert_eq!(done["success"], true, "{done}");
        assert_eq!(done["data"]["context"]["c"]["text"], "up");
    }
}
