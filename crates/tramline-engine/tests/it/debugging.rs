//! Debugging: breakpoints, single steps, time travel, forks, replays.

mod forks;

use crate::support::{engine, graphs, load, result, tools};
use std::sync::Arc;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, Fault, JournalPoint, ReplayStore, RunStart,
};
use tramline_expr::Value;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, BreakpointSet, Event, NodeBreakpoint, Pause, RunEvent};

const CHAIN: &str = "
  - name: chain
    description: Looks, works, adds up.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: look}
      - {id: look, type: mcp, server: t, tool: look, args: {task: $.entry.task}, next: which}
      - id: which
        type: switch
        conditions: [{rule: {'==': [{var: look.did}, stop]}, next: exit}]
        next: work
      - {id: work, type: mcp, server: t, tool: work, args: {task: $.look.did}, next: exit}
      - {id: exit, type: exit}
";

fn chain() -> Arc<Graph> {
    graphs(CHAIN).remove(0)
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

fn at(node: &str, condition: Option<&str>) -> BreakpointSet {
    BreakpointSet {
        breaks: vec![NodeBreakpoint::new(node, condition.map(json))],
        stepping: false,
    }
}

async fn start(engine: &Engine, watch: Option<BreakpointSet>) -> (RunId, DriveOutcome) {
    let mut start = RunStart::new(chain(), json(r#"{"task":"a"}"#));
    start.watch = watch;
    let handle = engine.start(start).await.unwrap();
    (handle.run.clone(), handle.wait().await.unwrap())
}

async fn resume(engine: &Engine, run: &RunId) -> DriveOutcome {
    engine.resume(run).await.unwrap().wait().await.unwrap()
}

/// The node before which a run has halted, with the checkpoint of the halt.
async fn halted(engine: &Engine, run: &RunId) -> (String, Checkpoint) {
    let loaded = load(engine, run).await;
    let (seq, pause) = loaded.run.pauses.iter().next().expect("the run has halted");
    let Pause::Break { node, .. } = pause else {
        panic!("{pause:?}")
    };
    let point = Checkpoint {
        run: run.clone(),
        seq: *seq,
    };
    (loaded.run.graph.node(*node).id.to_string(), point)
}

#[tokio::test]
async fn a_breakpoint_halts_once_and_only_when_its_condition_holds() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    for condition in [
        None,
        Some(r#""look.did = 'a'""#),
        Some(r#"{"==":[{"var":"look.did"},"a"]}"#),
    ] {
        let (run, _) = start(&engine, Some(at("work", condition))).await;
        assert_eq!(halted(&engine, &run).await.0, "work");
        assert_eq!(
            engine.continue_from_halt(&run, "me".into()).await.unwrap(),
            1
        );
        assert!(matches!(
            resume(&engine, &run).await,
            DriveOutcome::Finished(_)
        ));
    }
    let (_, ended) = start(&engine, Some(at("work", Some(r#""look.did = 'b'""#)))).await;
    assert!(matches!(ended, DriveOutcome::Finished(_)));
    // A condition that cannot be evaluated halts, and the pause says why.
    let (run, _) = start(&engine, Some(at("work", Some(r#""1 + look""#)))).await;
    assert_eq!(halted(&engine, &run).await.0, "work");
}

#[tokio::test]
async fn a_pinned_output_replaces_the_call_and_the_run_does_not_halt() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    for (output, which) in [(r#"{"did":"stop"}"#, "exit"), ("null", "work")] {
        let mut watch = at("look", None);
        watch.breaks[0].output = Some(json(output));
        let (run, ended) = start(&engine, Some(watch.clone())).await;
        let entries = load(&engine, &run).await.entries;
        let called = entries.iter().any(|entry| {
            matches!(&entry.event, Event::Run(RunEvent::StepStarted { node, .. }) if node.0 == 1)
        });
        assert!(!called, "the pinned node was called");
        let by = entries.iter().find_map(|entry| match &entry.event {
            Event::Run(RunEvent::Answered {
                by,
                answer: Answer::Skip { output },
                ..
            }) => Some((by.to_string(), output.clone())),
            _ => None,
        });
        assert_eq!(by, Some(("pinned output".to_owned(), json(output))));
        assert_eq!(BreakpointSet::current(&entries), watch);
        // With `stop` the switch leads to the end; otherwise the next call is made.
        let worked = entries.iter().any(|entry| {
            matches!(&entry.event, Event::Run(RunEvent::StepStarted { node, .. }) if node.0 == 3)
        });
        assert_eq!(worked, which == "work", "{ended:?}");
    }
}

#[tokio::test]
async fn a_pin_with_a_condition_is_used_only_when_it_holds() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let mut watch = at("work", Some(r#""look.did = 'b'""#));
    watch.breaks[0].output = Some(json("1"));
    let (run, ended) = start(&engine, Some(watch)).await;
    assert!(matches!(ended, DriveOutcome::Finished(_)));
    let pinned = load(&engine, &run).await.entries;
    assert!(
        pinned
            .iter()
            .all(|entry| entry.event.answered_pause().is_none())
    );
}

#[tokio::test]
async fn steps_are_taken_one_by_one_and_a_run_is_set_free() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let stepping = BreakpointSet {
        stepping: true,
        ..BreakpointSet::default()
    };
    let (run, _) = start(&engine, Some(stepping)).await;
    for node in ["entry", "look", "which"] {
        assert_eq!(halted(&engine, &run).await.0, node);
        engine.continue_from_halt(&run, "me".into()).await.unwrap();
        resume(&engine, &run).await;
    }
    engine
        .set_breakpoints(&run, BreakpointSet::default(), "me".into())
        .await
        .unwrap();
    engine.continue_from_halt(&run, "me".into()).await.unwrap();
    assert!(matches!(
        resume(&engine, &run).await,
        DriveOutcome::Finished(_)
    ));
}

#[tokio::test]
async fn a_halted_node_can_be_given_its_output() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (run, _) = start(&engine, Some(at("work", None))).await;
    let (_, point) = halted(&engine, &run).await;
    let output = json(r#"{"did":"nothing"}"#);
    let skip = Answer::Skip {
        output: output.clone(),
    };
    engine
        .answer(&point, skip, "me".into(), None)
        .await
        .unwrap();
    let DriveOutcome::Finished(outcome) = resume(&engine, &run).await else {
        panic!("the run did not end")
    };
    assert_eq!(*result(&outcome), output);
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn unknown_nodes_and_bad_conditions_are_refused() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    for watch in [
        at("wrok", None),
        at("work", Some(r#""1 +""#)),
        at("work", Some(r#"{"no":1}"#)),
    ] {
        let mut start = RunStart::new(chain(), json("{}"));
        start.watch = Some(watch);
        let refused = engine
            .start(start)
            .await
            .err()
            .expect("the start is rejected");
        assert!(matches!(refused, Fault::Rejected(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_run_is_read_as_it_stood_at_any_step() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (run, _) = start(&engine, None).await;
    let then = engine.load_at(&run, JournalPoint::Step(2)).await.unwrap();
    assert_eq!(
        *then.run.outputs(),
        json(r#"{"entry":{"task":"a"},"look":{"did":"a"}}"#)
    );
    assert!(engine.load_at(&run, JournalPoint::Step(99)).await.is_err());
    assert!(engine.load_at(&run, JournalPoint::Event(0)).await.is_err());
}

async fn replayed(text: &str) -> tramline_engine::ReplayResult {
    let (store, tools) = (MemoryStore::new(), tools());
    let options = EngineOptions {
        replay_store: Some(ReplayStore::new(|| Ok(Arc::new(MemoryStore::new())))),
        ..EngineOptions::default()
    };
    let engine = Engine::new(Arc::new(store), Arc::clone(&tools) as _, options);
    let (run, _) = start(&engine, None).await;
    let again = engine.replay(&run, Some(graphs(text).remove(0))).await;
    // Nothing was called again.
    assert_eq!(tools.calls().len(), 2);
    again.unwrap()
}

#[tokio::test]
async fn a_replay_of_the_same_workflow_is_the_same() {
    let again = replayed(CHAIN).await;
    assert!(again.comparison.same, "{:?}", again.comparison);
    assert_eq!(again.comparison.alike, 5);
    assert!(again.unused.is_empty() && again.unanswered.is_empty());
}

#[tokio::test]
async fn a_replay_tells_what_a_change_changes() {
    let changed = CHAIN.replace("args: {task: $.look.did}", "args: {task: other}");
    let again = replayed(&changed).await;
    assert!(!again.comparison.same);
    let step = again
        .comparison
        .steps
        .iter()
        .find(|step| step.node == "work")
        .unwrap();
    assert!(step.parts.iter().any(|part| part.part == "input"));
    let failed = again
        .trace
        .steps
        .iter()
        .find(|step| step.node == "work")
        .unwrap();
    assert_eq!(
        failed.error.as_ref().unwrap().kind,
        FailureKind::NotRecorded
    );
    assert_eq!(again.unused.len(), 1);
}

#[tokio::test]
async fn a_replay_gives_again_what_somebody_gave() {
    let (store, tools) = (MemoryStore::new(), tools());
    let options = EngineOptions {
        replay_store: Some(ReplayStore::new(|| Ok(Arc::new(MemoryStore::new())))),
        ..EngineOptions::default()
    };
    let engine = Engine::new(Arc::new(store), Arc::clone(&tools) as _, options);
    let (run, _) = start(&engine, Some(at("work", None))).await;
    let (_, point) = halted(&engine, &run).await;
    let output = json(r#"{"did":"by hand"}"#);
    engine
        .answer(&point, Answer::Skip { output }, "me".into(), None)
        .await
        .unwrap();
    resume(&engine, &run).await;
    let again = engine.replay(&run, None).await.unwrap();
    assert!(again.comparison.same, "{:?}", again.comparison);
}

#[tokio::test]
async fn a_condition_may_look_back_at_what_no_expression_looks_back_at() {
    const TURNS: &str = "
  - name: turns
    description: Counts.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: transform, transform: {expr: '$executionCount(\"add\")'}, next: more}
      - id: more
        type: switch
        conditions: [{rule: {'<': [{var: add}, 5]}, next: add}]
        next: exit
      - {id: exit, type: exit}
";
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let mut start = RunStart::new(graphs(TURNS).remove(0), json("{}"));
    start.watch = Some(at("more", Some(r#""$sum($nodeExecutions('add')) = 3""#)));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    assert!(matches!(
        handle.wait().await.unwrap(),
        DriveOutcome::Paused(_)
    ));
    assert_eq!(
        *load(&engine, &run).await.run.outputs().get("add").unwrap(),
        2.into()
    );
}
