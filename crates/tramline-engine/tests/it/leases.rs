//! Processes that are stopped for longer than their lease, and wake up when others drive their runs.

use crate::support::{engine, load, tools};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Event, Outcome, Pause, RunEvent};
use tramline_workflow::workflow::{Action, Edge, Node, Template, Workflow};

/// More than anything here takes.
const SOON: Duration = Duration::from_secs(20);

/// Calls of a tool, one after the other.
fn calls(tool: &str, count: usize) -> Arc<Graph> {
    let id = |n: usize| format!("call{n}");
    let nodes = (0..count).map(|n| {
        let arguments = Template::Literal(Value::object::<Str>([]));
        let tool = ToolName::new("t", tool);
        Node::new(id(n), Action::Call { tool, arguments })
    });
    let workflow = Workflow {
        name: "calls".into(),
        nodes: nodes.collect(),
        edges: (1..count).map(|n| Edge::new(id(n - 1), id(n))).collect(),
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

fn start(graph: &Arc<Graph>) -> RunStart {
    RunStart::new(Arc::clone(graph), Value::object::<Str>([]))
}

/// How often each step of a run was announced, from its journal.
async fn announced(engine: &Engine, run: &RunId) -> Vec<u64> {
    let loaded = load(engine, run).await;
    let whole = loaded.entries.iter().map(|entry| entry.seq);
    assert!(
        whole.eq(1..=loaded.entries.len() as u64),
        "the journal is whole"
    );
    let announced = |event: &Event| match event {
        Event::Run(RunEvent::StepStarted { step, .. }) => Some(u64::from(*step)),
        _ => None,
    };
    let entries = loaded.entries.iter();
    entries
        .filter_map(|entry| announced(&entry.event))
        .collect()
}

fn is_in_doubt(outcome: &DriveOutcome) -> bool {
    match outcome {
        DriveOutcome::Paused(pauses) => {
            matches!(pauses.as_slice(), [(_, Pause::InDoubt { .. })])
        }
        DriveOutcome::Finished(_) | DriveOutcome::Stopped => false,
    }
}

#[tokio::test]
async fn a_call_does_not_leave_after_a_stop_in_which_the_run_was_taken_over() {
    let (store, tools) = (MemoryStore::new().with_leases(), tools());
    let (first, other) = (engine(&store, &tools), store.process());
    // Stopped exactly between the commit of the announcement and the call.
    store.stop_after(1);
    let handle = first.start(start(&calls("work", 2))).await.unwrap();
    let run = handle.run.clone();
    store.stopped().await;
    store.let_lease_lapse();
    let second = engine(&other, &tools);
    let ended = second.resume(&run).await.unwrap().wait().await.unwrap();
    assert!(is_in_doubt(&ended), "{ended:?}");
    store.wake();
    let woken = handle.wait().await;
    assert!(matches!(woken, Err(Fault::Elsewhere { .. })), "{woken:?}");
    assert_eq!(tools.calls(), [], "no call left");
    assert_eq!(announced(&second, &run).await.len(), 1);
}

#[tokio::test]
async fn a_call_leaves_after_a_stop_in_which_nobody_took_the_run() {
    let (store, tools) = (MemoryStore::new().with_leases(), tools());
    let first = engine(&store, &tools);
    store.stop_after(1);
    let handle = first.start(start(&calls("work", 1))).await.unwrap();
    store.stopped().await;
    store.let_lease_lapse();
    store.wake();
    let ended = handle.wait().await.unwrap();
    let DriveOutcome::Finished(Outcome::Completed { .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(tools.calls().len(), 1);
}

/// The result of a call that was under way is refused: the run is another process's by then.
#[tokio::test]
async fn an_append_of_a_woken_process_is_refused() {
    for taken_back in [false, true] {
        let (store, go) = (
            MemoryStore::new().with_leases(),
            Arc::new(Semaphore::new(0)),
        );
        let held = Arc::clone(&go);
        let slow = FakeTools::new().tool("t", "slow", ToolHints::default(), move |_| {
            let held = Arc::clone(&held);
            async move {
                held.acquire().await.unwrap().forget();
                Ok(Value::Null)
            }
        });
        let slow = Arc::new(slow);
        let (first, other) = (engine(&store, &slow), store.process());
        let handle = first.start(start(&calls("slow", 1))).await.unwrap();
        let run = handle.run.clone();
        tokio::time::timeout(SOON, async {
            while slow.calls().is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
        store.let_lease_lapse();
        let second = engine(&other, &slow);
        let ended = second.resume(&run).await.unwrap().wait().await.unwrap();
        assert!(is_in_doubt(&ended), "{ended:?}");
        if taken_back {
            // The other process's lease runs out, too: the run has no driver, and is paused.
            other.let_lease_lapse();
        }
        go.add_permits(1);
        let woken = handle.wait().await.unwrap();
        assert!(is_in_doubt(&woken), "the first one asks, too: {woken:?}");
        assert_eq!(slow.calls().len(), 1);
        let ended = load(&second, &run).await.run.outcome;
        assert_eq!(ended, None, "the late result does not count");
    }
}

#[tokio::test]
async fn two_processes_that_take_a_run_over_ask_about_its_call_once() {
    let (store, tools) = (MemoryStore::new().with_leases(), tools());
    store.stop_after(1);
    let first = engine(&store, &tools);
    let handle = first.start(start(&calls("work", 3))).await.unwrap();
    let run = handle.run.clone();
    store.stopped().await;
    store.let_lease_lapse();
    let stores = [store.process(), store.process()];
    let engines = stores.each_ref().map(|store| engine(store, &tools));
    let resumed = engines.iter().map(|engine| async {
        match engine.resume(&run).await {
            Ok(handle) => handle.wait().await,
            Err(fault) => Err(fault),
        }
    });
    for ended in futures_util::future::join_all(resumed).await {
        match ended {
            Ok(outcome) => assert!(is_in_doubt(&outcome), "{outcome:?}"),
            Err(fault) => assert!(matches!(fault, Fault::Elsewhere { .. }), "{fault}"),
        }
    }
    store.wake();
    let woken = handle.wait().await;
    assert!(matches!(woken, Err(Fault::Elsewhere { .. })), "{woken:?}");
    let loaded = load(&engines[0], &run).await;
    let asked = |event: &Event| matches!(event, Event::Run(RunEvent::Paused { .. }));
    let asked = loaded.entries.iter().filter(|it| asked(&it.event));
    assert_eq!(asked.count(), 1, "one question");
    assert_eq!(tools.calls(), []);
}

#[tokio::test]
async fn a_run_that_is_started_twice_under_one_id_is_driven_once() {
    let (store, tools) = (MemoryStore::new().with_leases(), tools());
    let other = store.process();
    let (first, second) = (engine(&store, &tools), engine(&other, &tools));
    let (graph, id) = (calls("work", 2), first.new_run_id());
    let twice = [&first, &second].map(|engine| async {
        let mut start = start(&graph);
        start.id = Some(id.clone());
        engine.start(start).await.unwrap().wait().await
    });
    let ended = futures_util::future::join_all(twice).await;
    let finished = |ended: &&Result<DriveOutcome, Fault>| {
        matches!(ended, Ok(DriveOutcome::Finished(Outcome::Completed { .. })))
    };
    assert!(ended.iter().filter(finished).count() >= 1, "{ended:?}");
    assert_eq!(tools.calls().len(), 2, "each call once");
    assert_eq!(announced(&first, &id).await, [1, 2]);
}

/// A run whose process died after its first append, and the engine of another process.
async fn left_by_a_dead_process(tools: &Arc<FakeTools>) -> (Engine, RunId) {
    let store = MemoryStore::new().with_leases();
    let other = store.process();
    store.crash_after(1);
    let first = engine(&store, tools);
    let handle = first.start(start(&calls("work", 3))).await.unwrap();
    let run = handle.run.clone();
    assert!(handle.wait().await.is_err(), "its process died");
    (engine(&other, tools), run)
}

#[tokio::test(start_paused = true)]
async fn runs_of_a_dead_process_are_taken_over_while_others_live() {
    let tools = tools();
    let (second, run) = left_by_a_dead_process(&tools).await;
    let sweeper = second.clone();
    let sweep = tokio::spawn(async move { sweeper.take_over(|_| true).await });
    let done = async {
        while load(&second, &run).await.run.pauses.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, done).await.unwrap();
    assert_eq!(tools.calls().len(), 1, "it asks about the call");
    second.stop();
    sweep.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_sweep_leaves_runs_alone_that_are_not_its_own() {
    let tools = tools();
    let (second, run) = left_by_a_dead_process(&tools).await;
    let sweep = second.take_over(|_| false);
    let swept = tokio::time::timeout(Duration::from_secs(60), sweep).await;
    assert!(swept.is_err(), "it sweeps until it is stopped");
    assert!(load(&second, &run).await.run.pauses.is_empty());
}
