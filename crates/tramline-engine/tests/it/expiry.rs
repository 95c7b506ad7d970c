//! Expiry: a run without an answer within its time to live ends as expired.

use crate::support::{engine, engine_among, graphs, tools};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::{
    Append, ClaimChange, JournalStore, RunFilter, RunIndexRow, RunRow, RunStatus,
};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{DriveOutcome, Engine, Fault, RunStart, clock};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, Entry, Event, Outcome, Pause, RunEvent};

/// `ask` pauses twice, `outer` calls it.
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
    let mut start = RunStart::new(Arc::clone(graph), Value::object::<Str>([]));
    start.ttl_ms = ttl_ms;
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(mut pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let (seq, pause) = pauses.remove(0);
    (Checkpoint { run, seq }, pause)
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Waits until the time to live of a run is over.
async fn until_due(engine: &Engine, run: &RunId) {
    let due = engine.load(run).await.unwrap().run.expires_ms().unwrap();
    while clock::now_ms() <= due {
        pass(1).await;
    }
}

async fn status(engine: &Engine, run: &RunId) -> RunStatus {
    let row = engine.store().row(run).await.unwrap();
    row.unwrap().index_row.status
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
    // The process that expires a run need not be the one that started it.
    let other = engine(&store.process(), &tools);
    assert_eq!(other.expire().await.unwrap(), 1);
    assert_eq!(other.expire().await.unwrap(), 0);
    assert_eq!(status(&mine, &short.run).await, RunStatus::Expired);
    assert_eq!(status(&mine, &long.run).await, RunStatus::Paused);
    assert_eq!(status(&mine, &never.run).await, RunStatus::Paused);
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
    assert_eq!(status(&engine, &asked.run).await, RunStatus::Expired);
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
    assert!(matches!(
        handle.wait().await.unwrap(),
        DriveOutcome::Paused(_)
    ));
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
    assert!(matches!(
        handle.wait().await.unwrap(),
        DriveOutcome::Paused(_)
    ));
    until_due(&engine, &outer.run).await;
    assert_eq!(engine.expire().await.unwrap(), 0);
    // Its time to live starts again with the last use of its child, and ends once.
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
    assert_eq!(status(&engine, &outer.run).await, RunStatus::Expired);
    assert_eq!(status(&engine, &child).await, RunStatus::Expired);
}

#[tokio::test]
async fn a_run_that_an_older_version_listed_as_aborted_is_listed_as_expired() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graph = &workflows()[0];
    let (old, _) = waiting(&engine, graph, Some(60_000)).await;
    let (ended, _) = waiting(&engine, graph, Some(60_000)).await;
    engine.abort(&ended.run, "me".into(), None).await.unwrap();
    // As version 0.1 wrote it: the same event, with the index entry of an abort.
    let row = store.row(&old.run).await.unwrap().unwrap();
    let outcome = Outcome::Aborted {
        by: "expiry".into(),
        why: None,
    };
    let entry = Entry {
        seq: row.last + 1,
        at_ms: row.index_row.updated_ms,
        event: Event::Run(RunEvent::Finished { outcome }),
    };
    let mut body = Vec::new();
    tramline_workflow::journal::encode(&entry, &mut body).unwrap();
    let append = Append {
        run: old.run.clone(),
        seen: row.last,
        last: entry.seq,
        body,
        index_row: RunIndexRow {
            status: RunStatus::Aborted,
            ..row.index_row
        },
        claim: ClaimChange::Keep,
        documents: Vec::new(),
    };
    store.append(append).await.unwrap();
    let listed = async |status: &[RunStatus]| {
        let filter = RunFilter {
            status: status.to_vec(),
            ..RunFilter::default()
        };
        let rows = engine.runs(filter).await.unwrap().rows;
        let one = |row: RunRow| (row.run, row.index_row.status);
        rows.into_iter().map(one).collect::<BTreeMap<_, _>>()
    };
    let expired = (old.run.clone(), RunStatus::Expired);
    let aborted = (ended.run.clone(), RunStatus::Aborted);
    let both = [expired.clone(), aborted.clone()].into();
    assert_eq!(listed(&[RunStatus::Expired]).await, [expired].into());
    assert_eq!(listed(&[RunStatus::Aborted]).await, [aborted].into());
    assert_eq!(listed(&[]).await, both);
    let trace = engine.trace(&old.run).await.unwrap();
    assert_eq!(trace.status, "expired");
}

#[tokio::test]
async fn nobody_makes_an_abort_look_like_an_expiry() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (asked, _) = waiting(&engine, &workflows()[0], None).await;
    engine
        .abort(&asked.run, "expiry".into(), None)
        .await
        .unwrap();
    assert_eq!(status(&engine, &asked.run).await, RunStatus::Aborted);
}

#[tokio::test]
async fn a_run_that_paused_here_goes_on_here_when_it_is_answered_elsewhere() {
    let (store, tools) = (MemoryStore::new(), tools());
    let here = engine(&store, &tools);
    let (asked, _) = waiting(&here, &workflows()[0], None).await;
    let staying = here.clone();
    let staying = tokio::spawn(async move { staying.resume_answered().await });
    let other = engine(&store.process(), &tools);
    other
        .approve(&asked, true, "me".into(), None)
        .await
        .unwrap();
    let mut changes = store.changes();
    while tools.calls().is_empty() {
        changes.mark_unchanged();
        let _ = tokio::time::timeout(Duration::from_millis(50), changes.changed()).await;
    }
    assert_eq!(tools.calls().len(), 1);
    staying.abort();
}

/// Runs that another process answered and did not resume fill more than one page of the list.
#[tokio::test]
async fn an_answered_run_is_found_behind_hundreds_of_newer_ones() {
    let (store, tools) = (MemoryStore::new(), tools());
    let here = engine(&store, &tools);
    let (asked, _) = waiting(&here, &workflows()[0], None).await;
    let other = engine(&store.process(), &tools);
    let mut newer = Vec::new();
    for _ in 0..300 {
        newer.push(waiting(&other, &workflows()[0], None).await.0);
    }
    for checkpoint in newer.iter().chain([&asked]) {
        let approved = other.approve(checkpoint, true, "me".into(), None).await;
        approved.unwrap();
    }
    assert_eq!(tools.calls().len(), 0);
    let staying = here.clone();
    let staying = tokio::spawn(async move { staying.resume_answered().await });
    let mut changes = store.changes();
    while tools.calls().is_empty() {
        changes.mark_unchanged();
        let _ = tokio::time::timeout(Duration::from_millis(50), changes.changed()).await;
    }
    assert_eq!(tools.calls().len(), 1);
    staying.abort();
}
