//! The planner loop: plans that are given, made by a model, made from words, and requested from the
//! agent.

use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore, ScriptedModel};
use tramline_expr::Value;
use tramline_planner::loop_runner::{
    LoopRequest, LoopResponse, LoopRunner, LoopStatus, OnFailure, PlannerKind,
};
use tramline_planner::{ServiceOptions, Services};
use tramline_workflow::failure::Failure;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::RunId;

mod disk_syncs;
mod fixed_plans;
mod memory;
mod saved_plans;
mod tool_selection;

const SAFE: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

fn tools() -> FakeTools {
    let takes = r#"{"type":"object","properties":{"foo":{"type":"string"}},"required":["foo"],"additionalProperties":false}"#;
    let any = r#"{"type":"object","properties":{"x":{}}}"#;
    let destroys = ToolHints {
        destructive: Some(true),
        ..ToolHints::default()
    };
    FakeTools::new()
        .tool("m", "mock_tool_a", SAFE, |given: Value| async move {
            let text = given.get("foo").and_then(Value::as_str).unwrap_or_default();
            Ok(Value::object([("ran", format!("A with {text}").into())]))
        })
        .tool("m", "mock_tool_b", SAFE, |given| async { Ok(given) })
        .tool("m", "broken", SAFE, |_| async {
            Err(Failure::new(FailureKind::Tool, "the disk is full"))
        })
        .tool("m", "wipe", destroys, |given| async { Ok(given) })
        .described("m", "mock_tool_a", "Mock A", takes)
        .described("m", "mock_tool_b", "Echoes what it is given", any)
        .described("m", "broken", "Always fails", r#"{"type":"object"}"#)
        .described("m", "wipe", "Wipes", r#"{"type":"object"}"#)
}

struct LoopRig {
    tools: Arc<FakeTools>,
    store: MemoryStore,
}

impl LoopRig {
    fn new() -> Self {
        Self {
            tools: Arc::new(tools()),
            store: MemoryStore::default(),
        }
    }

    fn services(&self) -> Services {
        let store = Arc::new(self.store.clone());
        let tools = Arc::clone(&self.tools);
        Services::new(store, tools as _, ServiceOptions::default())
    }

    fn runner(&self) -> LoopRunner {
        LoopRunner::new(self.services().planner)
    }

    fn called(&self) -> Vec<String> {
        let calls = self.tools.calls();
        calls.iter().map(|call| call.tool.to_string()).collect()
    }
}

fn planned(plan: Json) -> LoopRequest {
    LoopRequest::new("do it").plan(plan)
}

fn told(response: &LoopResponse) -> Json {
    Json::from(&response.to_value())
}

#[tokio::test]
async fn a_valid_plan_runs_in_order_and_its_outputs_are_in_the_context() {
    let place = LoopRig::new();
    let plan = json!([{"tool": "mock_tool_a", "args": {"foo": "bar"}},
        {"tool": "m:mock_tool_b", "id": "b", "args": {"x": "$OUTPUT[step_1].ran"}}]);
    let response = place.runner().run(planned(plan)).await.unwrap();
    assert!(response.success());
    assert_eq!(place.called(), ["m:mock_tool_a", "m:mock_tool_b"]);
    let told = told(&response);
    assert_eq!(told["status"], "complete");
    assert_eq!(told["planner"], "caller");
    let context = &told["data"]["context"];
    assert_eq!(context["mock_tool_a"]["ran"], "A with bar");
    assert_eq!(context["step_1"]["ran"], "A with bar");
    assert_eq!(context["b"]["x"], "A with bar");
    assert_eq!(context["embeddedMessage"], Json::Null);
    let results = told["data"]["intermediateResults"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["input"], json!({"foo": "bar"}));
    assert_eq!(results[0]["success"], true);
    let run: RunId = told["runId"].as_str().unwrap().parse().unwrap();
    assert!(
        place
            .services()
            .engine
            .load(&run)
            .await
            .unwrap()
            .run
            .outcome
            .is_some()
    );
}

#[tokio::test]
async fn an_unknown_tool_is_told_and_the_rest_runs_unless_it_is_strict() {
    let place = LoopRig::new();
    let plan = json!([{"tool": "mock_tool_a", "args": {"foo": "x"}}, {"tool": "unknown_tool", "args": {}},
        {"tool": "mock_tool_b", "args": {}}]);
    let response = place.runner().run(planned(plan.clone())).await.unwrap();
    assert!(response.success());
    assert_eq!(place.called().len(), 2);
    let said: Vec<_> = response
        .results
        .iter()
        .map(|one| one.error.clone())
        .collect();
    assert_eq!(said[0], None);
    assert_eq!(said[1].as_deref(), Some("there is no tool `unknown_tool`"));
    let strict = place.runner().run(planned(plan).strict()).await.unwrap();
    assert_eq!(strict.status, LoopStatus::Refused);
    assert!(
        strict.problems[0].contains("unknown_tool"),
        "{:?}",
        strict.problems
    );
    assert_eq!(place.called().len(), 2, "no further calls");
}

#[tokio::test]
async fn arguments_that_do_not_fit_fail_with_the_schemas_words() {
    let place = LoopRig::new();
    let plan = json!([{"tool": "mock_tool_b", "args": {}}, {"tool": "mock_tool_a", "args": {"invalidKey": 123}},
        {"tool": "mock_tool_b", "args": {"x": 2}}]);
    let request = planned(plan.clone()).on_error(OnFailure::Stop);
    let stopped = place.runner().run(request).await.unwrap();
    assert_eq!(stopped.status, LoopStatus::Failed);
    assert_eq!(place.called(), ["m:mock_tool_b"]);
    let error = stopped.results[1].error.clone().unwrap();
    assert!(
        error.contains("foo") && error.contains("invalidKey"),
        "{error}"
    );
    let request = planned(plan).on_error(OnFailure::Continue);
    let on = place.runner().run(request).await.unwrap();
    assert!(on.success());
    assert_eq!(on.results.len(), 3);
    assert_eq!(place.called().len(), 3);
}

#[tokio::test]
async fn a_plan_of_no_steps_does_nothing() {
    let place = LoopRig::new();
    let response = place.runner().run(planned(json!([]))).await.unwrap();
    assert!(response.success());
    assert!(place.called().is_empty());
    assert_eq!(told(&response)["data"]["intermediateResults"], json!([]));
}

#[tokio::test]
async fn a_failure_stops_or_is_passed_over_as_is_wanted() {
    let place = LoopRig::new();
    let plan = json!([{"tool": "broken"}, {"tool": "mock_tool_b", "args": {"x": 1}}]);
    let request = planned(plan.clone()).on_error(OnFailure::Stop);
    let stopped = place.runner().run(request).await.unwrap();
    assert_eq!(stopped.status, LoopStatus::Failed);
    assert_eq!(stopped.results.len(), 1);
    let error = stopped.results[0].error.as_deref().unwrap();
    assert!(error.contains("the disk is full"), "{error}");
    let request = planned(plan).on_error(OnFailure::Continue);
    let on = place.runner().run(request).await.unwrap();
    assert!(on.success());
    assert_eq!(on.results.len(), 2);
}

fn with_model(place: &LoopRig, answers: &[&str]) -> (LoopRunner, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::new(answers.iter().copied()));
    (place.runner().with_model(Arc::clone(&model) as _), model)
}

#[tokio::test]
async fn a_model_plans_and_what_is_wrong_is_repaired_once() {
    let place = LoopRig::new();
    let good = "Sure:\n```json\n[{\"tool\": \"m:mock_tool_a\", \"args\": {\"foo\": \"y\"}}]\n```";
    let (runner, model) = with_model(&place, &["I had rather not.", good]);
    let response = runner.run(LoopRequest::new("run mock a")).await.unwrap();
    assert!(response.success());
    assert_eq!(response.planner, Some(PlannerKind::Model));
    assert!(response.tokens > 0);
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 2);
    let shown = &prompts[0].messages[1].text;
    assert!(
        shown.contains("m:mock_tool_a") && shown.contains("Mock A"),
        "{shown}"
    );
    let repair = &prompts[1].messages[3].text;
    assert!(repair.contains("there is no JSON array"), "{repair}");
}

#[tokio::test]
async fn a_model_is_shown_what_failed_and_plans_anew_once() {
    let place = LoopRig::new();
    let bad = r#"[{"id": "p", "tool": "m:mock_tool_b", "args": {"x": 1}}, {"id": "q", "tool": "m:broken", "args": {}}]"#;
    let good = r#"{"plan": [{"id": "r", "tool": "m:mock_tool_a", "args": {"foo": "z"}}]}"#;
    let (runner, model) = with_model(&place, &[bad, good]);
    let response = runner.run(LoopRequest::new("do")).await.unwrap();
    assert!(response.success(), "{response:?}");
    assert_eq!(response.runs.len(), 2);
    let ids: Vec<_> = response
        .results
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(ids, ["p", "q", "r"]);
    let shown = &model.prompts()[1].messages[1].text;
    assert!(shown.contains("the disk is full"), "{shown}");
}

#[tokio::test]
async fn a_plan_that_fails_again_and_again_is_given_up() {
    let place = LoopRig::new();
    let same = r#"[{"tool": "m:broken", "args": {}}]"#;
    let other = r#"[{"tool": "m:broken", "args": {"n": 2}}]"#;
    let (runner, model) = with_model(&place, &[same, same, same, same]);
    let response = runner.run(LoopRequest::new("do")).await.unwrap();
    assert_eq!(response.status, LoopStatus::Failed);
    assert_eq!((model.prompts().len(), place.called().len()), (2, 1));
    assert!(
        response
            .problems
            .contains(&"the model returned the same plan again".to_owned())
    );
    let (runner, model) = with_model(&place, &[same, other, same, other]);
    let response = runner.run(LoopRequest::new("do")).await.unwrap();
    assert_eq!(response.status, LoopStatus::Failed);
    assert_eq!((model.prompts().len(), place.called().len()), (2, 3));
}

#[tokio::test]
async fn what_a_model_used_is_taken_from_the_budget() {
    let place = LoopRig::new();
    let plan = r#"[{"tool": "m:mock_tool_b", "args": {}}]"#;
    let (runner, _) = with_model(&place, &[plan]);
    let mut request = LoopRequest::new("do");
    request.budget = Some(tramline_workflow::journal::Budget {
        tokens: Some(2),
        ..Default::default()
    });
    let response = runner.run(request).await.unwrap();
    assert_eq!(response.status, LoopStatus::Paused, "{response:?}");
    assert!(place.called().is_empty());
}

#[tokio::test]
async fn what_a_built_in_tool_asks_of_a_model_counts_too() {
    let usage = || Value::from(json!({"response": "x", "usage": {"tokens": 6}}));
    let tools = FakeTools::new()
        .tool("builtin", "llm", SAFE, move |_| async move { Ok(usage()) })
        .tool("other", "llm", SAFE, move |_| async move { Ok(usage()) });
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools), ServiceOptions::default());
    let runner = LoopRunner::new(services.planner);
    let with = |first: &str| {
        let mut request = planned(json!([
            {"tool": first, "args": {"prompt": "x"}},
            {"tool": "other:llm"},
        ]));
        request.budget = Some(tramline_workflow::journal::Budget {
            tokens: Some(6),
            ..Default::default()
        });
        request
    };
    let asks = runner.run(with("builtin:llm")).await.unwrap();
    assert_eq!(asks.status, LoopStatus::Paused, "{asks:?}");
    let run: RunId = asks.runs[0].parse().unwrap();
    assert_eq!(
        services.engine.load(&run).await.unwrap().run.model_tokens,
        6
    );
    // Usage reported by other servers is not counted.
    let done = runner.run(with("other:llm")).await.unwrap();
    assert!(done.success(), "{done:?}");
}

#[tokio::test]
async fn words_plan_only_what_they_plainly_say() {
    let place = LoopRig::new();
    let runner = place.runner();
    let run = |message: &'static str| runner.run(LoopRequest::new(message));
    let response = run("mock tool a 'hi'").await.unwrap();
    assert_eq!(response.planner, Some(PlannerKind::Words), "{response:?}");
    assert_eq!(place.called(), ["m:mock_tool_a"]);
    for message in [
        "do not mock tool a 'hi'",
        "mock tool a 'hi'?",
        "mock tool a",
        "mock something with 'hi'",
    ] {
        let response = run(message).await.unwrap();
        assert_eq!(response.status, LoopStatus::PlanRequest, "{message}");
    }
    assert_eq!(place.called().len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (wrong, says) in [
        (json!({}), "`messages` is empty"),
        (json!({"messages": "hi"}), "`messages` must be a list"),
        (
            json!({"messages": [{"role": "user"}]}),
            "message 1 has no `content`",
        ),
        (
            json!({"messages": [{"content": "x"}], "on_error": "panic"}),
            "`on_error` is",
        ),
        (
            json!({"messages": [{"content": "x"}], "availableTools": [3]}),
            "`availableTools` must contain",
        ),
        (
            json!({"messages": [{"content": "x"}], "budget": {"money": 1}}),
            "a budget has no field `money`",
        ),
    ] {
        let error = LoopRequest::read(&Value::from(wrong)).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
    let whole = json!({"mode": "analyst", "sessionId": "s", "messages": [{"role": "user", "content": "x"}],
        "context": {"a": 1}, "plannerRecommendations": ["b"], "availableTools": [{"name": "m:c"}, "m:*"]});
    let request = LoopRequest::read(&Value::from(whole)).unwrap();
    assert_eq!(LoopRequest::read(&request.to_value()).unwrap(), request);
}
