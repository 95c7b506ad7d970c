//! Plans that failed and are fixed by the calling agent.

use super::{LoopRig, planned, told};
use serde_json::{Value as Json, json};
use tramline_engine::Fault;
use tramline_expr::Value;
use tramline_planner::loop_runner::{CallerContext, LoopResponse, LoopStatus, PlannerKind};
use tramline_workflow::journal::{Budget, BudgetPart};

/// Submits a plan in another process than the one that requested it.
async fn submit(place: &LoopRig, handle: &str, plan: Json) -> Result<LoopResponse, Fault> {
    let (plan, terms) = (Value::from(plan), CallerContext::default());
    place.runner().submit(handle, &plan, &terms).await
}

#[tokio::test]
async fn without_a_model_the_agent_is_asked_to_plan_what_is_left() {
    let place = LoopRig::new();
    let request = planned(
        json!([{"id": "a", "tool": "m:mock_tool_b", "args": {"x": {"n": 7}}},
        {"id": "b", "tool": "m:broken", "args": {"y": 1}}, {"id": "c", "tool": "m:mock_tool_b", "args": {"x": 3}}]),
    );
    let asked = place.runner().run(request).await.unwrap();
    assert_eq!(asked.status, LoopStatus::PlanRequest, "{asked:?}");
    let asked = told(&asked);
    let asks = &asked["plan_request"];
    let done = json!([{"id": "a", "tool": "m:mock_tool_b", "output": {"x": {"n": 7}}}]);
    assert_eq!(asks["done"], done);
    assert_eq!(asks["failed"][0]["args"], json!({"y": 1}));
    let error = asks["failed"][0]["error"].as_str().unwrap();
    assert!(error.contains("the disk is full"), "{error}");
    assert_eq!(asks["open"]["steps"][0]["id"], "c");
    let results = asked["data"]["intermediateResults"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let handle = asked["handle"].as_str().unwrap();
    let nothing = submit(&place, handle, json!([])).await.unwrap();
    assert_eq!(nothing.status, LoopStatus::Refused);
    let lost = json!([{"tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[a].x.m"}}]);
    let refused = submit(&place, handle, lost).await.unwrap();
    let says = "step `step_1`: the output of `a` has no `.x.m`";
    assert_eq!(refused.problems, [says]);
    let patch = json!([{"id": "b", "tool": "mock_tool_a", "args": {"foo": "n is $OUTPUT[a].x.n"}},
        {"id": "c", "tool": "m:mock_tool_b", "args": {"x": ["$OUTPUT[a].x.n", 8]}},
        {"id": "d", "tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[b].ran"}}]);
    let done = submit(&place, handle, patch).await.unwrap();
    assert!(done.success(), "{done:?}");
    assert_eq!(
        (done.planner, done.runs.len()),
        (Some(PlannerKind::Agent), 2)
    );
    let done = told(&done);
    let context = &done["data"]["context"];
    assert_eq!(context["c"]["x"], json!([7, 8]));
    assert_eq!(context["b_2"]["ran"], "A with n is 7", "b is what failed");
    assert_eq!(context["d"]["x"], "A with n is 7");
    assert_eq!(place.called().len(), 5);
}

#[tokio::test]
async fn a_patch_that_fails_too_ends_it() {
    let place = LoopRig::new();
    let request = planned(json!([{"tool": "m:broken"}]));
    let asked = place.runner().run(request).await.unwrap();
    let handle = asked.handle.unwrap();
    let again = json!([{"tool": "m:broken", "args": {"n": 2}}]);
    let over = submit(&place, &handle, again.clone()).await.unwrap();
    assert_eq!(over.status, LoopStatus::Failed, "{over:?}");
    assert_eq!((over.results.len(), over.runs.len()), (2, 2));
    assert!(submit(&place, &handle, again).await.is_err());
}

#[tokio::test]
async fn what_a_step_gave_is_never_read_as_a_reference() {
    let place = LoopRig::new();
    let request = planned(json!([
        {"id": "a", "tool": "m:mock_tool_b", "args": {"x": {"type": "literal", "value": "$OUTPUT[zzz].q"}}},
        {"id": "b", "tool": "m:broken"}]));
    let asked = place.runner().run(request).await.unwrap();
    let patch = json!([{"id": "c", "tool": "mock_tool_a", "args": {"foo": "$OUTPUT[a].x"}}]);
    let done = submit(&place, &asked.handle.unwrap(), patch).await.unwrap();
    assert!(done.success(), "{done:?}");
    let context = &told(&done)["data"]["context"];
    assert_eq!(context["c"], json!({"ran": "A with $OUTPUT[zzz].q"}));
}

#[tokio::test]
async fn a_mended_plan_has_what_the_first_one_left_of_the_budget() {
    let place = LoopRig::new();
    let patch = json!([{"id": "c", "tool": "m:mock_tool_b", "args": {"x": 1}},
        {"id": "d", "tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[c].x"}}]);
    // By part, with how many calls are sent before the second run pauses.
    for (budget, calls) in [
        (Budget::of_part(BudgetPart::Calls, 3), 3),
        (Budget::of_part(BudgetPart::Bytes, 1_500), 2),
    ] {
        let mut request = planned(json!([{"id": "a", "tool": "m:mock_tool_b"},
            {"id": "b", "tool": "m:broken"}]));
        request.budget = Some(budget);
        let before = place.called().len();
        let asked = place.runner().run(request).await.unwrap();
        assert_eq!(asked.status, LoopStatus::PlanRequest, "{asked:?}");
        let waits = submit(&place, &asked.handle.unwrap(), patch.clone())
            .await
            .unwrap();
        assert_eq!(waits.status, LoopStatus::Paused, "{waits:?}");
        assert_eq!(place.called().len() - before, calls, "{budget:?}");
    }
}
