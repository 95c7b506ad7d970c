//! What is learnt from runs: only what ended well, without secrets, and not where it is switched off.

use serde_json::json;
use std::sync::Arc;
use tramline_core::failure::{Failure, FailureKind};
use tramline_engine::loop_runner::{LoopRunner, Request};
use tramline_engine::seams::{Hints, Store as _};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, Options};

fn tools() -> FakeTools {
    let none = r#"{"type":"object"}"#;
    let hints = Hints::default();
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

fn engine(store: &MemoryStore, learn: bool) -> Engine {
    let options = Options {
        learn,
        ..Options::default()
    };
    Engine::new(Arc::new(store.clone()), Arc::new(tools()), options)
}

async fn does(engine: &Engine, intent: &str, tools: &[&str]) {
    let steps: Vec<_> = tools
        .iter()
        .map(|tool| json!({"tool": tool, "args": {}}))
        .collect();
    let request = Request::new(intent).plan(json!(steps));
    LoopRunner::new(engine.clone()).run(request).await.unwrap();
}

async fn confidence(engine: &Engine, wish: &str) -> f64 {
    let plan = engine.plan(wish, None, &|_| true, &|_| false, &[]).await;
    plan.unwrap().confidence
}

#[tokio::test]
async fn plans_that_ended_well_make_later_ones_surer() {
    let store = MemoryStore::default();
    let first = engine(&store, true);
    let wish = "get the order of Mister Winter on its way";
    let before = confidence(&first, wish).await;
    for who in ["Summer", "Autumn", "Spring"] {
        let intent = format!("get the order of Mister {who} on its way");
        does(&first, &intent, &["shop:pack", "shop:ship"]).await;
    }
    does(&first, "get the order of nobody on its way", &["shop:burn"]).await;
    // Another process knows it too.
    let second = engine(&store, true);
    assert!(confidence(&second, wish).await > before);
    let past = second.learnt().known().await.unwrap();
    assert_eq!(past.len(), 3, "what failed taught nothing");
    let pair = ("shop:pack".into(), "shop:ship".into(), 3);
    assert_eq!(past.pairs(), [pair]);
    assert_eq!(second.learnt().forget(Some("shop:ship")).await.unwrap(), 3);
    assert_eq!(confidence(&second, wish).await, before);
    assert!(store.list("learnt").await.unwrap().is_empty());
}

#[tokio::test]
async fn nothing_is_learnt_or_used_where_that_is_switched_off() {
    let store = MemoryStore::default();
    let off = engine(&store, false);
    let wish = "get the order on its way";
    does(&off, wish, &["shop:pack", "shop:ship"]).await;
    assert!(store.list("learnt").await.unwrap().is_empty());
    let before = confidence(&off, wish).await;
    does(&engine(&store, true), wish, &["shop:pack", "shop:ship"]).await;
    assert_eq!(store.list("learnt").await.unwrap().len(), 1);
    assert_eq!(confidence(&off, wish).await, before);
}

#[tokio::test]
async fn no_value_of_an_intent_is_kept() {
    let store = MemoryStore::default();
    let wish = "send 'the hidden plan' of 4711 to ann@example.com, the password is hunter2";
    does(&engine(&store, true), wish, &["shop:pack"]).await;
    let keys = store.list("learnt").await.unwrap();
    let body = store.get("learnt", &keys[0]).await.unwrap().unwrap();
    let text = String::from_utf8(body).unwrap();
    for secret in ["hidden", "4711", "ann", "hunter2"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains("send"), "{text}");
}
