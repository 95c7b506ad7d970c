//! What outlives a request: plan requests, message history, paused runs.

use super::{LoopRig, planned, told, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_catalog::search::Embedder;
use tramline_engine::ports::DocumentStore;
use tramline_engine::testing::MemoryStore;
use tramline_expr::Value;
use tramline_planner::loop_runner::{
    CallerContext, LoopRequest, LoopRunner, LoopStatus, PlannerKind,
};
use tramline_planner::{ServiceOptions, Services};
use tramline_workflow::failure::Failure;
use tramline_workflow::ids::RunId;

#[tokio::test]
async fn the_agent_is_asked_for_a_plan_and_gives_it_after_a_restart() {
    let place = LoopRig::new();
    let mut request = LoopRequest::new("cook a dinner for twelve").session("s");
    request.save_as = Some("dinner".into());
    let asked = place.runner().run(request).await.unwrap();
    assert_eq!(asked.status, LoopStatus::PlanRequest);
    let asked = told(&asked);
    let handle = asked["handle"].as_str().unwrap();
    let asks = &asked["plan_request"];
    assert!(asks["plan_schema"]["properties"]["plan"].is_object());
    assert!(
        asks["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "m:mock_tool_a")
    );
    assert_eq!(asks["open"]["unmet"][0], "cook a dinner for twelve");
    let bad = Value::from(
        json!([{"tool": "m:mock_tool_x", "args": {}}, {"tool": "m:mock_tool_a", "args": {}}]),
    );
    let anew = place.runner();
    let refused = anew
        .submit(handle, &bad, &CallerContext::default())
        .await
        .unwrap();
    assert_eq!(refused.status, LoopStatus::Refused);
    assert_eq!(refused.problems.len(), 2);
    assert!(
        refused.problems[0].contains("did you mean"),
        "{:?}",
        refused.problems
    );
    assert_eq!(refused.handle.as_deref(), Some(handle));
    let stranger = CallerContext {
        owner: Some("eve".into()),
        ..CallerContext::default()
    };
    let good = Value::from(json!([{"tool": "mock_tool_a", "args": {"foo": "soup"}}]));
    assert!(anew.submit(handle, &good, &stranger).await.is_err());
    let done = anew
        .submit(handle, &good, &CallerContext::default())
        .await
        .unwrap();
    assert!(done.success());
    assert_eq!(done.planner, Some(PlannerKind::Agent));
    assert_eq!(told(&done)["data"]["workflow"]["name"], "dinner");
    assert!(
        anew.submit(handle, &good, &CallerContext::default())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_conversation_is_remembered_and_what_is_near_is_found() {
    let place = LoopRig::new();
    let say = |text: &str| {
        LoopRequest::new(text.to_owned())
            .session("s")
            .plan(json!([]))
    };
    for text in [
        "the invoice of March is unpaid",
        "what is the weather",
        "thanks",
    ] {
        place.runner().run(say(text)).await.unwrap();
    }
    let response = place.runner().run(say("pay that invoice")).await.unwrap();
    let context = &told(&response)["data"]["context"];
    assert_eq!(context["recentMessages"].as_array().unwrap().len(), 3);
    let near = context["semanticMatches"].as_array().unwrap();
    assert_eq!(near[0]["content"], "the invoice of March is unpaid");
    assert_eq!(near.len(), 1);
    let other = place.runner().run(say("x").session("t")).await.unwrap();
    assert_eq!(told(&other)["data"]["context"]["recentMessages"], json!([]));
    for number in 0..210 {
        place
            .runner()
            .run(say(&format!("number {number}")))
            .await
            .unwrap();
    }
    let kept = place
        .store
        .get("messages", "\u{1f}s")
        .await
        .unwrap()
        .unwrap();
    let kept: Json = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept.as_array().unwrap().len(), 200);
}

/// An embedder that knows two meanings, and counts its calls.
#[derive(Default)]
struct FakeMeanings(AtomicUsize);

#[async_trait::async_trait]
impl Embedder for FakeMeanings {
    fn model(&self) -> &str {
        "two"
    }

    fn batch_max(&self) -> usize {
        2
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure> {
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        let dog = |text: &String| text.contains("dog") || text.contains("puppy");
        let vector = |text| {
            if dog(text) {
                vec![1.0, 0.0]
            } else {
                vec![0.0, 1.0]
            }
        };
        Ok(texts.iter().map(vector).collect())
    }
}

#[tokio::test]
async fn what_means_the_same_is_found_where_something_tells() {
    let meanings = Arc::new(FakeMeanings::default());
    let options = ServiceOptions {
        embedder: Some(Arc::clone(&meanings) as _),
        ..ServiceOptions::default()
    };
    let services = Services::new(Arc::new(MemoryStore::default()), Arc::new(tools()), options);
    let runner = LoopRunner::new(services.planner);
    let say = |text: &str| {
        let plan = json!([{"tool": "mock_tool_b", "args": {}}]);
        LoopRequest::new(text.to_owned()).session("s").plan(plan)
    };
    for text in ["my dog is ill", "it rains", "the sun shines"] {
        runner.run(say(text)).await.unwrap();
    }
    let before = meanings.0.load(Ordering::Relaxed);
    let response = runner.run(say("how is the puppy")).await.unwrap();
    let asked = meanings.0.load(Ordering::Relaxed) - before;
    assert_eq!(asked, 1, "the other embeddings are cached");
    let context = &told(&response)["data"]["context"];
    assert_eq!(context["embeddedMessage"], json!([1, 0]));
    assert_eq!(context["semanticMatches"][0]["content"], "my dog is ill");
    assert_eq!(context["semanticMatches"].as_array().unwrap().len(), 1);
    let run: RunId = response.runs[0].parse().unwrap();
    let again = runner
        .wait_for(&run, &CallerContext::default())
        .await
        .unwrap();
    assert_eq!(told(&again), told(&response));
}

#[tokio::test]
async fn a_step_that_must_be_agreed_to_waits_and_is_told_of_afterwards() {
    let place = LoopRig::new();
    let plan = json!([{"tool": "m:wipe", "args": {"all": true}}]);
    let response = place.runner().run(planned(plan)).await.unwrap();
    assert_eq!(response.status, LoopStatus::Paused);
    let told = told(&response);
    let run: RunId = told["runId"].as_str().unwrap().parse().unwrap();
    let point = told["waiting"][0]["checkpoint_id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    place
        .services()
        .engine
        .approve(&point, true, "me".into(), None)
        .await
        .unwrap();
    let done = place
        .runner()
        .wait_for(&run, &CallerContext::default())
        .await
        .unwrap();
    assert!(done.success(), "{done:?}");
    assert_eq!(place.called(), ["m:wipe"]);
    assert_eq!(done.results[0].output, Value::from(json!({"all": true})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_of_one_conversation_at_once_lose_nothing() {
    let place = LoopRig::new();
    let runner = place.runner();
    let say = |number: usize| {
        let runner = runner.clone();
        let request = LoopRequest::new(format!("message {number}"));
        let request = request.session("s").plan(json!([]));
        tokio::spawn(async move { runner.run(request).await.unwrap() })
    };
    for said in (0..40).map(say).collect::<Vec<_>>() {
        said.await.unwrap();
    }
    let kept = place
        .store
        .get("messages", "\u{1f}s")
        .await
        .unwrap()
        .unwrap();
    let kept: Json = serde_json::from_slice(&kept).unwrap();
    let mut said: Vec<_> = kept
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["content"].to_string())
        .collect();
    said.sort();
    said.dedup();
    assert_eq!(said.len(), 40);
}
