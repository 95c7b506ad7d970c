//! Plans that are saved as workflows and then run by name.

use super::{LoopRig, planned, told, with_model};
use serde_json::json;
use tramline_expr::Value;
use tramline_planner::loop_runner::{CallerContext, LoopRequest, LoopRunner, LoopStatus};

fn saving(mut request: LoopRequest, name: &str) -> LoopRequest {
    request.save_as = Some(name.into());
    request
}

async fn by_name(runner: &LoopRunner, name: &str) -> serde_json::Value {
    let plan = json!([{"id": "again", "tool": format!("workflow:{name}"), "args": {}}]);
    let done = runner.run(planned(plan)).await.unwrap();
    assert!(done.success(), "{done:?}");
    told(&done)["data"]["context"]["again"].clone()
}

#[tokio::test]
async fn a_plan_that_was_done_is_saved_and_runs_by_its_name() {
    let place = LoopRig::new();
    let runner = place.runner();
    let plan = json!([{"id": "a", "tool": "mock_tool_a", "args": {"foo": "x"}},
        {"id": "b", "tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[a].ran"}}]);
    let request = saving(planned(plan.clone()), "do-it");
    let done = told(&runner.run(request.clone()).await.unwrap());
    assert_eq!(
        done["saved"],
        json!({"name": "do-it", "version": 1, "new": true, "node_type": "workflow:do-it"})
    );
    assert_eq!(
        done["data"]["workflow"]["tasks"][0]["tool"],
        "m:mock_tool_a"
    );
    let again = told(&runner.run(request).await.unwrap());
    assert_eq!(
        again["saved"]["new"], false,
        "the same plan is not a new version"
    );
    let again = by_name(&runner, "do-it").await;
    assert_eq!(again["b"], json!({"x": "A with x"}));
    // Another plan does not replace it, and nothing of it runs.
    let calls = place.called().len();
    let other = planned(json!([{"tool": "m:mock_tool_b", "args": {}}]));
    let refused = runner.run(saving(other, "do-it")).await.unwrap();
    assert_eq!(refused.status, LoopStatus::Refused);
    assert!(
        refused.problems[0].contains("another workflow `do-it`"),
        "{:?}",
        refused.problems
    );
    assert_eq!(place.called().len(), calls);
    let bad = runner
        .run(saving(planned(plan), "Do It"))
        .await
        .unwrap_err();
    assert!(bad.to_string().contains("do-it"), "{bad}");
}

#[tokio::test]
async fn a_plan_with_a_failure_is_not_saved_and_a_mended_one_is_saved_whole() {
    let place = LoopRig::new();
    let plan = json!([{"id": "a", "tool": "m:mock_tool_b", "args": {"x": 5}}, {"id": "b", "tool": "m:broken"}]);
    let request = saving(planned(plan), "whole");
    let runner = place.runner();
    let asked = runner.run(request).await.unwrap();
    assert_eq!(
        (asked.status, &asked.saved),
        (LoopStatus::PlanRequest, &None)
    );
    let patch =
        Value::from(json!([{"id": "c", "tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[a].x"}}]));
    let handle = asked.handle.unwrap();
    let done = runner
        .submit(&handle, &patch, &CallerContext::default())
        .await
        .unwrap();
    let done = told(&done);
    assert_eq!(done["saved"]["version"], 1, "{done}");
    let tasks = done["data"]["workflow"]["tasks"].as_array().unwrap();
    let ids: Vec<_> = tasks
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "c"]);
    assert_eq!(by_name(&runner, "whole").await["c"], json!({"x": 5}));
    let plan = json!([{"tool": "m:broken"}, {"tool": "m:mock_tool_b", "args": {"x": 1}}]);
    let mut request = saving(planned(plan), "broken-one");
    request.on_error = tramline_planner::loop_runner::OnFailure::Continue;
    let done = told(&runner.run(request).await.unwrap());
    assert_eq!(done["saved"]["error"], "step `step_1` did not succeed");
}

#[tokio::test]
async fn what_a_model_planned_and_a_person_agreed_to_is_saved_in_the_end() {
    let place = LoopRig::new();
    let plan = r#"[{"id": "w", "tool": "m:wipe", "args": {"all": true}}]"#;
    let (runner, _) = with_model(&place, &[plan]);
    let waits = runner
        .run(saving(LoopRequest::new("clear all"), "clear-all"))
        .await
        .unwrap();
    assert_eq!((waits.status, &waits.saved), (LoopStatus::Paused, &None));
    let point = waits.waiting.as_ref().unwrap().as_array().unwrap()[0]
        .get("checkpoint_id")
        .cloned();
    let point = point.unwrap().as_str().unwrap().parse().unwrap();
    place
        .services()
        .engine
        .approve(&point, true, "me".into(), None)
        .await
        .unwrap();
    let run = waits.runs[0].parse().unwrap();
    let done = place
        .runner()
        .wait_for(&run, &CallerContext::default())
        .await
        .unwrap();
    assert_eq!(
        told(&done)["saved"]["node_type"],
        "workflow:clear-all",
        "{done:?}"
    );
}
