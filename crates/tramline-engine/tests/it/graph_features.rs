//! Features of graphs beyond calls and computations: concurrent items, waits, nested workflows.

use crate::crashes::try_every_crash_among;
use crate::support::{engine, engine_among, graphs, load, result, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tramline_engine::ports::{RunFilter, RunStatus, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, RunStart};
use tramline_expr::Value;
use tramline_views::trace::Trace;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent};

const SPREAD: &str = "
  - name: spread
    description: Works on each item.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: each}
      - id: each
        type: mcp
        server: t
        tool: work
        map: {over: $.entry.items, as: one, width: 3, on-failure: FAILURES}
        args: {task: $one, place: $index}
        next: exit
      - {id: exit, type: exit}
";

fn spread(failures: &str) -> Arc<Graph> {
    graphs(&SPREAD.replace("FAILURES", failures)).remove(0)
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

async fn run(engine: &Engine, graph: &Arc<Graph>, input: &str) -> Outcome {
    let start = RunStart::new(Arc::clone(graph), json(input));
    match engine.start(start).await.unwrap().wait().await.unwrap() {
        DriveOutcome::Finished(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_is_made_for_each_item_and_the_outputs_keep_their_places() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let outcome = run(
        &engine,
        &spread("stop"),
        r#"{"items":["a","b","c","d","e"]}"#,
    )
    .await;
    let wanted = r#"[{"did":"a"},{"did":"b"},{"did":"c"},{"did":"d"},{"did":"e"}]"#;
    assert_eq!(*result(&outcome), json(wanted));
    assert_eq!(tools.calls().len(), 5);
    assert_eq!(
        tools.calls()[4].arguments,
        json(r#"{"task":"e","place":4}"#)
    );
    for (input, count) in [(r#"{"items":[]}"#, 0), ("{}", 0), (r#"{"items":"one"}"#, 1)] {
        let outcome = run(&engine, &spread("stop"), input).await;
        assert_eq!(result(&outcome).as_array().unwrap().len(), count, "{input}");
    }
}

#[tokio::test]
async fn the_trace_tells_items_and_what_they_came_to() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let start = RunStart::new(spread("stop"), json(r#"{"items":["a","b"]}"#));
    let handle = engine.start(start).await.unwrap();
    let id = handle.run.clone();
    handle.wait().await.unwrap();
    let loaded = load(&engine, &id).await;
    let trace = Trace::of(&id, &loaded.run.graph, &loaded.entries);
    let items: Vec<_> = trace
        .steps
        .iter()
        .map(|step| step.item.map(|item| item.index))
        .collect();
    assert_eq!(items, [None, None, Some(0), Some(1), None]);
    assert_eq!(
        trace.steps[1].output,
        Some(json(r#"[{"did":"a"},{"did":"b"}]"#))
    );
}

/// Fails for `bad`, waits forever for `slow`, counts the calls in flight.
fn picky() -> Arc<FakeTools> {
    Arc::new(
        FakeTools::new().tool("t", "work", ToolHints::default(), |arguments| async move {
            match arguments.get("task").and_then(Value::as_str) {
                Some("bad") => Err(Failure::new(FailureKind::Tool, "no")),
                Some("slow") => std::future::pending().await,
                _ => Ok(arguments.get("place").cloned().unwrap_or_default()),
            }
        }),
    )
}

#[tokio::test]
async fn a_failed_item_stops_the_others_or_stands_at_its_place() {
    let (store, tools) = (MemoryStore::new(), picky());
    let engine = engine(&store, &tools);
    let outcome = run(&engine, &spread("stop"), r#"{"items":["slow","bad","c"]}"#).await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    let outcome = run(&engine, &spread("keep"), r#"{"items":["a","bad","c"]}"#).await;
    let kept = result(&outcome).as_array().unwrap();
    assert_eq!((&kept[0], &kept[2]), (&0.into(), &2.into()));
    assert_eq!(
        kept[1].get("error").unwrap().get("code"),
        Some(&"T0501".into())
    );
}

#[tokio::test]
async fn no_more_items_at_once_than_the_width() {
    let tools = Arc::new(FakeTools::new().delay(Duration::from_millis(20)).tool(
        "t",
        "work",
        ToolHints::default(),
        |_| async { Ok(Value::Null) },
    ));
    let store = MemoryStore::new();
    let engine = engine(&store, &tools);
    let begun = Instant::now();
    run(&engine, &spread("stop"), r#"{"items":[1,2,3,4,5,6]}"#).await;
    // Two rounds of three, on any machine.
    assert!(begun.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn many_items_are_no_steps_of_the_limit() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let items: Vec<_> = (0..3_000).map(Value::from).collect();
    let input = Value::object([("items", Value::array(items))]);
    let outcome = run(&engine, &spread("stop"), &input.to_json()).await;
    assert_eq!(result(&outcome).as_array().unwrap().len(), 3_000);
}

const WAITS: &str = "
  - name: waits
    description: Waits.
    inputSchema: {type: object}
    executionLimits: {maxExecutionTimeMs: 30}
    nodes:
      - {id: entry, type: entry, next: wait}
      - {id: wait, type: wait, for: $.entry.ms, next: exit}
      - {id: exit, type: exit}
";

#[tokio::test]
async fn a_wait_hands_on_what_came_before_and_is_no_work() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let begun = Instant::now();
    let outcome = run(&engine, &graphs(WAITS)[0], r#"{"ms":120}"#).await;
    assert_eq!(*result(&outcome), json(r#"{"ms":120}"#));
    assert!(begun.elapsed() >= Duration::from_millis(120));
    for bad in [r#"{"ms":-1}"#, r#"{"ms":"soon"}"#, r#"{"ms":1e300}"#] {
        let outcome = run(&engine, &graphs(WAITS)[0], bad).await;
        assert!(
            matches!(outcome, Outcome::Failed { .. }),
            "{bad}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn a_wait_goes_on_in_another_process() {
    let (store, tools) = (MemoryStore::new(), tools());
    let first = engine(&store, &tools);
    let start = RunStart::new(Arc::clone(&graphs(WAITS)[0]), json(r#"{"ms":"150ms"}"#));
    let handle = first.start(start).await.unwrap();
    let id = handle.run.clone();
    let mut follow = first.subscribe(id.clone(), 0);
    while !matches!(
        follow.next().await.unwrap().unwrap().event,
        Event::Run(RunEvent::Waiting { .. })
    ) {}
    first.close().await;
    assert_eq!(handle.wait().await.unwrap(), DriveOutcome::Stopped);
    let second = engine(&store.process(), &tools);
    let recovered = second.recover(|_| true).await.unwrap();
    assert_eq!(recovered.driven.len(), 1);
    for handle in recovered.driven {
        assert!(matches!(
            handle.wait().await.unwrap(),
            DriveOutcome::Finished(_)
        ));
    }
}

const NESTED: &str = "
  - name: outer
    description: Calls another workflow.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: inner}
      - {id: inner, type: workflow, workflow: inner, args: {task: $.entry.task}, next: look}
      - {id: look, type: mcp, server: t, tool: look, args: {task: $.inner.did}, next: exit}
      - {id: exit, type: exit}
  - name: inner
    description: Works.
    inputSchema: {type: object, required: [task]}
    nodes:
      - {id: entry, type: entry, next: work}
      - {id: work, type: mcp, server: t, tool: work, args: {task: $.entry.task}, next: exit}
      - {id: exit, type: exit}
  - name: asks
    description: Asks first.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: work}
      - {id: work, type: mcp, server: t, tool: work, approval: may it, args: {task: x}, next: exit}
      - {id: exit, type: exit}
  - name: waits_for_asks
    description: Calls what asks.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: inner}
      - {id: inner, type: workflow, workflow: asks, next: exit}
      - {id: exit, type: exit}
  - name: itself
    description: Calls itself.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: again}
      - {id: again, type: workflow, workflow: itself, next: exit}
      - {id: exit, type: exit}
  - name: each
    description: Calls a workflow for each item, then waits.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: both}
      - {id: both, type: workflow, workflow: inner, map: $.entry.items, args: {task: $item}, next: wait}
      - {id: wait, type: wait, for: 1, next: exit}
      - {id: exit, type: exit}
";

fn nested(name: &str) -> (Arc<Graph>, Vec<Arc<Graph>>) {
    let all = graphs(NESTED);
    let own = all
        .iter()
        .find(|graph| graph.workflow.name == name)
        .unwrap();
    (Arc::clone(own), all)
}

#[tokio::test]
async fn a_workflow_is_called_as_a_run_of_its_own() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (graph, all) = nested("outer");
    let engine = engine_among(&store, &tools, &all);
    let outcome = run(&engine, &graph, r#"{"task":"a"}"#).await;
    assert_eq!(*result(&outcome), json(r#"{"did":"a"}"#));
    let page = engine.runs(Default::default()).await.unwrap();
    assert_eq!(page.rows.len(), 2);
    assert!(
        page.rows
            .iter()
            .all(|row| row.index_row.status == RunStatus::Completed)
    );
    let outcome = run(&engine, &graph, "{}").await;
    let Outcome::Failed { failure, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.kind, FailureKind::BadArguments, "{failure}");
}

#[tokio::test]
async fn a_workflow_that_calls_itself_meets_a_bound() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (graph, all) = nested("itself");
    let engine = engine_among(&store, &tools, &all);
    let outcome = run(&engine, &graph, "{}").await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert_eq!(
        engine.runs(Default::default()).await.unwrap().rows.len(),
        17
    );
}

#[tokio::test]
async fn who_calls_a_workflow_that_asks_waits_with_it() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (graph, all) = nested("waits_for_asks");
    let first = engine_among(&store, &tools, &all);
    let handle = first.start(RunStart::new(graph, json("{}"))).await.unwrap();
    let parent = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let Pause::Child { run: child, .. } = pauses[0].1.clone() else {
        panic!("{pauses:?}")
    };
    first.close().await;
    // Another process answers the child and drives it; that resumes the parent.
    let second = engine_among(&store.process(), &tools, &all);
    let asked = *load(&second, &child)
        .await
        .run
        .pauses
        .keys()
        .next()
        .unwrap();
    let asked = Checkpoint {
        run: child.clone(),
        seq: asked,
    };
    second
        .answer(&asked, Answer::Proceed, "me".into(), None)
        .await
        .unwrap();
    second.resume(&child).await.unwrap().wait().await.unwrap();
    let mut follow = second.subscribe(parent.clone(), 0);
    while let Some(entry) = follow.next().await.unwrap() {
        if let Event::Run(RunEvent::Finished { outcome }) = entry.event {
            assert_eq!(*result(&outcome), json(r#"{"did":"x"}"#));
        }
    }
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn an_abort_ends_what_was_waited_for() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (graph, all) = nested("waits_for_asks");
    let engine = engine_among(&store, &tools, &all);
    let handle = engine
        .start(RunStart::new(graph, json("{}")))
        .await
        .unwrap();
    let parent = handle.run.clone();
    handle.wait().await.unwrap();
    engine.abort(&parent, "me".into(), None).await.unwrap();
    let page = engine.runs(Default::default()).await.unwrap();
    assert!(
        page.rows
            .iter()
            .all(|row| row.index_row.status == RunStatus::Aborted)
    );
}

#[tokio::test]
async fn items_waits_and_workflows_survive_any_crash() {
    let input = r#"{"task":"a","items":["a","b","c"]}"#;
    try_every_crash_among(spread("stop"), json(input), &[]).await;
    for name in ["outer", "each"] {
        let (graph, all) = nested(name);
        try_every_crash_among(graph, json(input), &all).await;
    }
}

const LONG: &str = "
  - name: long
    description: Computes for a while.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: compute}
      - {id: compute, type: transform, transform: {expr: '$sum([1..60].($count($map([1..2000], function($v) { $v * 2 }))))'}, next: exit}
      - {id: exit, type: exit}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn long_steps_leave_the_worker_to_others() {
    const RUNS: usize = 8;
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graph = graphs(LONG).remove(0);
    let finished = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..RUNS)
        .map(|_| {
            let (engine, graph) = (engine.clone(), Arc::clone(&graph));
            let finished = Arc::clone(&finished);
            tokio::spawn(async move {
                let outcome = run(&engine, &graph, "{}").await;
                finished.fetch_add(1, Ordering::SeqCst);
                outcome
            })
        })
        .collect();
    // The only worker takes tasks in order: this one ends before all runs only if they compute
    // beside it.
    let other = (engine.clone(), Arc::clone(&finished));
    let other = tokio::spawn(async move {
        other.0.runs(RunFilter::default()).await.unwrap();
        other.1.load(Ordering::SeqCst)
    });
    assert!(other.await.unwrap() < RUNS);
    for one in all {
        // On a busy machine a run may fail at its deadline.
        one.await.unwrap();
    }
}
