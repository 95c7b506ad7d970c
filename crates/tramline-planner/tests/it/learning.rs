//! Plan history: only plans that succeeded are recorded, without secrets, and not where it is off.

use serde_json::json;
use std::sync::Arc;
use tramline_engine::ports::{DocumentStore, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore, ScriptedModel};
use tramline_planner::loop_runner::{LoopRequest, LoopRunner};
use tramline_planner::{Planner, ServiceOptions, Services};
use tramline_workflow::failure::Failure;
use tramline_workflow::failure::FailureKind;

fn tools() -> FakeTools {
    let none = r#"{"type":"object"}"#;
    let hints = ToolHints::default();
    FakeTools::new()
        .tool("shop", "pack", hints, |given| async { Ok(given) })
        .tool("shop", "ship", hints, |given| async { Ok(given) })
        .tool("shop", "burn", hints, |_| async {
            Err(Failure::new(FailureKind::Tool, "on fire"))
        })
        .described("shop", "pack", "Puts things into boxes", none)
        .described("shop", "ship", "Hands boxes over", none)
        .described("shop", "burn", "Always fails", none)
}

fn planner(store: &MemoryStore, learn: bool) -> Planner {
    let options = ServiceOptions {
        learn,
        ..ServiceOptions::default()
    };
    Services::new(Arc::new(store.clone()), Arc::new(tools()), options).planner
}

async fn does(planner: &Planner, intent: &str, tools: &[&str]) {
    let steps: Vec<_> = tools
        .iter()
        .map(|tool| json!({"tool": tool, "args": {}}))
        .collect();
    let request = LoopRequest::new(intent).plan(json!(steps));
    LoopRunner::new(planner.clone()).run(request).await.unwrap();
}

async fn confidence(planner: &Planner, wish: &str) -> f64 {
    let plan = planner.plan(wish, None, &|_| true, &|_| false, &[]).await;
    plan.unwrap().confidence
}

#[tokio::test]
async fn plans_that_ended_well_make_later_ones_surer() {
    let store = MemoryStore::default();
    let first = planner(&store, true);
    let wish = "get the order of Mister Winter on its way";
    let before = confidence(&first, wish).await;
    for who in ["Summer", "Autumn", "Spring"] {
        let intent = format!("get the order of Mister {who} on its way");
        does(&first, &intent, &["shop:pack", "shop:ship"]).await;
    }
    does(&first, "get the order of nobody on its way", &["shop:burn"]).await;
    // Another process knows them too.
    let second = planner(&store, true);
    assert!(confidence(&second, wish).await > before);
    let past = second.history().stored_precedents().await.unwrap();
    assert_eq!(past.len(), 3, "failed plans are not recorded");
    let pair = ("shop:pack".into(), "shop:ship".into(), 3);
    assert_eq!(past.waiting_pairs(), [pair]);
    assert_eq!(second.history().forget(Some("shop:ship")).await.unwrap(), 3);
    assert_eq!(confidence(&second, wish).await, before);
    assert!(store.list("learnt").await.unwrap().is_empty());
}

#[tokio::test]
async fn nothing_is_learnt_or_used_where_that_is_switched_off() {
    let store = MemoryStore::default();
    let off = planner(&store, false);
    let wish = "get the order on its way";
    does(&off, wish, &["shop:pack", "shop:ship"]).await;
    assert!(store.list("learnt").await.unwrap().is_empty());
    let before = confidence(&off, wish).await;
    does(&planner(&store, true), wish, &["shop:pack", "shop:ship"]).await;
    assert_eq!(store.list("learnt").await.unwrap().len(), 1);
    assert_eq!(confidence(&off, wish).await, before);
}

#[tokio::test]
async fn no_value_of_an_intent_is_kept() {
    let store = MemoryStore::default();
    let wish = "send 'the hidden plan' of 4711 to ann@example.com, the password is hunter2";
    does(&planner(&store, true), wish, &["shop:pack"]).await;
    let keys = store.list("learnt").await.unwrap();
    let body = store.get("learnt", &keys[0]).await.unwrap().unwrap();
    let text = String::from_utf8(body).unwrap();
    for secret in ["hidden", "4711", "ann", "hunter2"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains("send"), "{text}");
}

/// The words and tools of the recorded plans, latest first.
async fn lessons(planner: &Planner) -> Vec<(String, Vec<String>)> {
    let all = planner.history().learned_plans().await.unwrap().into_iter();
    all.map(|one| {
        let tools = one.tools.iter().map(ToString::to_string).collect();
        (one.intent.to_string(), tools)
    })
    .collect()
}

#[tokio::test]
async fn a_correction_outweighs_what_was_done_many_times() {
    let store = MemoryStore::default();
    let planner = planner(&store, true);
    let wish = "get the order of 'Winter' on its way";
    for _ in 0..10 {
        does(
            &planner,
            "get the order of 'Summer' on its way",
            &["shop:pack"],
        )
        .await;
    }
    for who in ["parcel", "letter", "crate", "barrel"] {
        let intent = format!("get the {who} on its way");
        does(&planner, &intent, &["shop:pack"]).await;
    }
    does(&planner, wish, &["shop:ship"]).await;
    let plan = planner.plan(wish, None, &|_| true, &|_| false, &[]).await;
    let tools: Vec<_> = plan
        .unwrap()
        .tools
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(tools, ["shop:ship"]);
    let learnt = lessons(&planner).await;
    let of_orders: Vec<_> = learnt
        .iter()
        .filter(|(intent, _)| intent.contains("order"))
        .collect();
    assert_eq!(of_orders.len(), 1, "{learnt:?}");
}

#[tokio::test]
async fn our_own_guesses_and_repairs_teach_nothing() {
    let store = MemoryStore::default();
    let planner = planner(&store, true);
    let plan = |tool: &str| json!({"plan": [{"tool": tool, "args": {}}]}).to_string();
    let model = ScriptedModel::new([plan("shop:pack"), plan("shop:burn"), plan("shop:ship")]);
    let runner = LoopRunner::new(planner.clone()).with_model(Arc::new(model));
    let response = runner
        .run(LoopRequest::new("put it into boxes"))
        .await
        .unwrap();
    assert!(response.success(), "{response:?}");
    // A plan that failed, and another one for the rest.
    let response = runner.run(LoopRequest::new("send it off")).await.unwrap();
    assert!(response.success(), "{response:?}");
    assert_eq!(lessons(&planner).await, []);
    does(&planner, "put it into boxes", &["shop:pack"]).await;
    let learnt = lessons(&planner).await;
    assert_eq!(
        learnt,
        [("put it into boxes".to_owned(), vec!["shop:pack".to_owned()])]
    );
    let id = planner.history().learned_plans().await.unwrap()[0]
        .id
        .clone();
    assert_eq!(planner.history().forget_plan("").await.unwrap(), 0);
    assert_eq!(planner.history().forget_plan(&id).await.unwrap(), 1);
    assert_eq!(lessons(&planner).await, []);
}

#[tokio::test]
async fn far_precedents_do_not_vote() {
    let store = MemoryStore::default();
    let taught = planner(&store, true);
    let wish = "put the things of Mister Winter into boxes";
    let before = taught
        .plan(wish, None, &|_| true, &|_| false, &[])
        .await
        .unwrap();
    for what in ["garden", "harbour", "museum", "library"] {
        let intent = format!("open the {what} for Mister Summer and the children of the town");
        does(&taught, &intent, &["shop:ship"]).await;
    }
    let after = taught
        .plan(wish, None, &|_| true, &|_| false, &[])
        .await
        .unwrap();
    assert_eq!(after.tasks, before.tasks);
    assert_eq!(after.confidence, before.confidence);
    assert_eq!(after.reasons[0].vote, 0.0);
}
