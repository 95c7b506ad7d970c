//! Retention: ended runs are removed by age and size, child runs with their parents.

use crate::support::{engine, engine_among, graphs, tools};
use std::sync::Arc;
use tramline_engine::ports::RunFilter;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{DriveOutcome, Engine, Retention, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::Answer;

/// `plain` only calls, `ask` pauses first, `outer` and `patient` call one of them.
fn workflows() -> Vec<Arc<Graph>> {
    let mut text = String::new();
    for (name, node) in [
        ("plain", "type: mcp, server: t, tool: look, args: {task: x}"),
        (
            "ask",
            "type: mcp, server: t, tool: look, args: {task: x}, approval: ok",
        ),
        ("outer", "type: workflow, workflow: plain, args: {}"),
        ("patient", "type: workflow, workflow: ask, args: {}"),
    ] {
        text.push_str(&format!(
            "
- name: {name}
  description: d
  inputSchema: {{type: object}}
  outputSchema: {{}}
  nodes:
    - {{id: entry, type: entry, next: a}}
    - {{id: a, {node}, next: exit}}
    - {{id: exit, type: exit}}"
        ));
    }
    graphs(&text)
}

async fn run(engine: &Engine, graph: &Arc<Graph>) -> (RunId, DriveOutcome) {
    let start = RunStart::new(Arc::clone(graph), Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    (handle.run.clone(), handle.wait().await.unwrap())
}

async fn kept(engine: &Engine) -> Vec<RunId> {
    let page = engine.runs(RunFilter::default()).await.unwrap();
    page.rows.into_iter().map(|row| row.run).collect()
}

const ALL_OLD: Retention = Retention {
    age_ms_max: Some(0),
    bytes_max: None,
};

/// Lets the clock advance, so that ended runs are older than now.
fn tick() {
    let now = tramline_engine::clock::now_ms();
    while tramline_engine::clock::now_ms() <= now + 1 {
        std::hint::spin_loop();
    }
}

#[tokio::test]
async fn the_oldest_go_for_room_and_a_dry_run_takes_nothing() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(run(&engine, &workflows()[0]).await.0);
        tick();
    }
    let bytes = engine.store().usage().await.unwrap().bytes;
    let one = engine.store().row(&runs[0]).await.unwrap().unwrap().bytes;
    // Space for two of them and the workflow that they share.
    let keep = Retention {
        age_ms_max: None,
        bytes_max: Some(bytes - 3 * one + 100),
    };
    let dry = engine.prune(keep, true).await.unwrap();
    assert_eq!(dry.runs, runs[..3]);
    assert_eq!(kept(&engine).await.len(), 5);
    assert_eq!(engine.prune(keep, false).await.unwrap(), dry);
    assert_eq!(kept(&engine).await, [runs[4].clone(), runs[3].clone()]);
    assert!(engine.store().usage().await.unwrap().bytes <= keep.bytes_max.unwrap());
    assert!(engine.prune(keep, false).await.unwrap().runs.is_empty());
    let young = Retention {
        age_ms_max: Some(3_600_000),
        bytes_max: None,
    };
    assert!(engine.prune(young, false).await.unwrap().runs.is_empty());
    assert_eq!(engine.prune(ALL_OLD, false).await.unwrap().runs.len(), 2);
}

#[tokio::test]
async fn what_a_process_still_holds_stays() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (held, _) = run(&engine, &workflows()[0]).await;
    assert!(engine.store().claim(&held).await.unwrap().is_held());
    tick();
    assert!(engine.prune(ALL_OLD, false).await.unwrap().runs.is_empty());
    engine.store().release(&held).await.unwrap();
    assert_eq!(engine.prune(ALL_OLD, false).await.unwrap().runs, [held]);
}

#[tokio::test]
async fn called_runs_go_with_their_callers_and_what_waits_stays() {
    let (store, tools) = (MemoryStore::new(), tools());
    let all = workflows();
    let engine = engine_among(&store, &tools, &all);
    let (outer, ended) = run(&engine, &all[2]).await;
    assert!(matches!(ended, DriveOutcome::Finished(_)));
    let (patient, ended) = run(&engine, &all[3]).await;
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("the run did not pause");
    };
    tick();
    assert_eq!(kept(&engine).await.len(), 4);
    let gone = engine.prune(ALL_OLD, false).await.unwrap();
    assert_eq!(gone.runs.len(), 2, "{gone:?}");
    assert!(gone.runs.contains(&outer));
    assert_eq!(
        kept(&engine).await.len(),
        2,
        "a paused run and what it waits for"
    );
    assert!(engine.prune(ALL_OLD, false).await.unwrap().runs.is_empty());
    // The child has ended but its parent has not; it is kept with the parent.
    let tramline_workflow::journal::Pause::Child { run: child, .. } = &pauses[0].1 else {
        panic!("the run waits for a child");
    };
    let asked = engine.load(child).await.unwrap().run;
    let seq = *asked.pauses.keys().next().unwrap();
    let asked = Checkpoint {
        run: child.clone(),
        seq,
    };
    let answered = engine
        .answer(&asked, Answer::Reject, "me".into(), None)
        .await;
    answered.unwrap();
    engine.resume(child).await.unwrap().wait().await.unwrap();
    let status = |run: &RunId| {
        let (store, run) = (Arc::clone(engine.store()), run.clone());
        async move { store.row(&run).await.unwrap().unwrap().index_row.status }
    };
    while !status(&patient).await.is_over() {
        let pruned = engine.prune(ALL_OLD, false).await.unwrap();
        if !pruned.runs.is_empty() {
            break;
        }
        tokio::task::yield_now().await;
    }
    tick();
    engine.prune(ALL_OLD, false).await.unwrap();
    assert!(kept(&engine).await.is_empty());
}
