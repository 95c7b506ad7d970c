//! Expiry: what nobody answers in its time is over, and says so.

use crate::support::{engine, engine_among, graphs, tools};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::journal::{Answer, Outcome, Pause};
use tramline_core::{Str, Value};
use tramline_engine::seams::Status;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{Ended, Engine, Fault, Start, clock};

/// `ask` asks twice, `outer` calls it.
fn workflows() -> Vec<Arc<Graph>> {
    graphs(
        "
- name: ask
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: one}
    - {id: one, type: mcp, server: t, tool: look, args: {task: x}, approval: ok, next: two}
    - {id: two, type: mcp, server: t, tool: look, args: {task: x}, approval: ok, next: exit}
    - {id: exit, type: exit}
- name: outer
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: inner}
    - {id: inner, type: workflow, workflow: ask, args: {}, next: exit}
    - {id: exit, type: exit}",
    )
}

async fn waiting(engine: &Engine, graph: &Arc<Graph>, ttl_ms: Option<u64>) -> (Checkpoint, Pause) {
    let mut start = Start::new(Arc::clone(graph), Value::object::<Str>([]));
    start.ttl_ms = ttl_ms;
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let Ended::Paused(mut pauses) = handle.ended().await.unwrap() else {
        panic!("nobody asked")
    };
    let (seq, pause) = pauses.remove(0);
    (Checkpoint { run, seq }, pause)
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Lets time pass until a run's own time is over.
async fn until_due(engine: &Engine, run: &RunId) {
    let due = engine.load(run).await.unwrap().run.expires_ms().unwrap();
    while clock::now_ms() <= due {
        pass(1).await;
    }
}

async fn status(engine: &Engine, run: &RunId) -> Status {
    let row = engine.store().row(run).await.unwrap();
    row.unwrap().head.status
}

#[tokio::test]
async fn what_waits_too_long_is_over_and_the_rest_stays() {
    let (store, tools) = (MemoryStore::new(), tools());
    let mine = engine(&store, &tools);
    assert_eq!(mine.expire().await.unwrap(), 0);
    let graph = &workflows()[0];
    let (short, _) = waiting(&mine, graph, Some(30)).await;
    let (long, _) = waiting(&mine, graph, Some(60_000)).await;
    let (never, _) = waiting(&mine, graph, None).await;
    assert_eq!(mine.expire().await.unwrap(), 0);
    until_due(&mine, &short.run).await;
    // Whoever looks need not be who started it.
    let other = engine(&store.process(), &tools);
    assert_eq!(other.expire().await.unwrap(), 1);
    assert_eq!(other.expire().await.unwrap(), 0);
    assert_eq!(status(&mine, &short.run).await, Status::Aborted);
    assert_eq!(status(&mine, &long.run).await, Status::Paused);
    assert_eq!(status(&mine, &never.run).await, Status::Paused);
    let outcome = mine.load(&short.run).await.unwrap().run.outcome;
    assert!(matches!(outcome, Some(Outcome::Aborted { by, .. }) if by == "expiry"));
    for engine in [&mine, &other] {
        let fault = engine.approve(&short, true, "me".into(), None).await;
        assert!(matches!(fault, Err(Fault::Expired { .. })), "{fault:?}");
        assert!(matches!(
            engine.resume(&short.run).await,
            Err(Fault::Expired { .. })
        ));
    }
}

#[tokio::test]
async fn who_comes_too_late_is_told_though_nobody_looked() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (asked, _) = waiting(&engine, &workflows()[0], Some(20)).await;
    until_due(&engine, &asked.run).await;
    let fault = engine.approve(&asked, true, "me".into(), None).await;
    assert!(matches!(fault, Err(Fault::Expired { .. })), "{fault:?}");
    assert_eq!(status(&engine, &asked.run).await, Status::Aborted);
    assert_eq!(tools.calls(), []);
}

#[tokio::test]
async fn use_gives_a_run_its_whole_time_again() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (asked, _) = waiting(&engine, &workflows()[0], Some(2_000)).await;
    let first = engine.load(&asked.run).await.unwrap().run.expires_ms();
    pass(20).await;
    engine
        .approve(&asked, true, "me".into(), None)
        .await
        .unwrap();
    let handle = engine.resume(&asked.run).await.unwrap();
    assert!(matches!(handle.ended().await.unwrap(), Ended::Paused(_)));
    let second = engine.load(&asked.run).await.unwrap().run.expires_ms();
    assert!(second.unwrap() >= first.unwrap() + 20);
    assert_eq!(engine.expire().await.unwrap(), 0);
}

#[tokio::test]
async fn a_run_is_used_as_long_as_the_one_it_waits_for() {
    let (store, tools) = (MemoryStore::new(), tools());
    let all = workflows();
    let engine = engine_among(&store, &tools, &all);
    let (outer, pause) = waiting(&engine, &all[1], Some(2_000)).await;
    let Pause::Child { run: child, .. } = pause else {
        panic!("{pause:?}")
    };
    pass(1_000).await;
    let inner = engine.load(&child).await.unwrap().run;
    let asked = Checkpoint {
        run: child.clone(),
        seq: *inner.pauses.keys().next().unwrap(),
    };
    engine
        .answer(&asked, Answer::Proceed, "me".into(), None)
        .await
        .unwrap();
    let handle = engine.resume(&child).await.unwrap();
    assert!(matches!(handle.ended().await.unwrap(), Ended::Paused(_)));
    until_due(&engine, &outer.run).await;
    assert_eq!(engine.expire().await.unwrap(), 0);
    // From the last use of the one it waits for, its time begins anew, and ends once.
    let used = engine.load(&child).await.unwrap().run.updated_ms;
    let ended = async {
        loop {
            match engine.expire().await.unwrap() {
                0 => pass(1).await,
                ended => return ended,
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
    assert_eq!(ended.unwrap(), 1);
    assert!(clock::now_ms() >= used + 2_000);
    assert_eq!(status(&engine, &outer.run).await, Status::Aborted);
    assert_eq!(status(&engine, &child).await, Status::Aborted);
}
