//! Waiting for a run, whichever process drives it.

use crate::support::{Tasks, engine, tools};
use std::sync::Arc;
use tokio::sync::Notify;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Fault, RunStart, WaitPolicy, WaitedRun};
use tramline_expr::Value;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Outcome, SchedulePolicy};

/// Two tasks, one after the other, that may be repeated.
fn two_tasks() -> Arc<Graph> {
    Tasks {
        waits_for: vec![vec![], vec![0]],
        fails: vec![false; 2],
        repeatable: vec![true; 2],
    }
    .graph()
}

/// Pauses after the first task.
fn layered() -> RunStart {
    let mut start = RunStart::new(two_tasks(), Value::Null);
    start.policy = SchedulePolicy::Layered;
    start
}

fn is_completed(waited: &WaitedRun) -> bool {
    matches!(
        waited.outcome,
        DriveOutcome::Finished(Outcome::Completed { .. })
    )
}

/// Tools whose calls signal the first notify and wait for the second.
fn gated(called: &Arc<Notify>, open: &Arc<Notify>) -> Arc<FakeTools> {
    let (called, open) = (Arc::clone(called), Arc::clone(open));
    // Not repeatable, so it is announced before it is made, and other processes see the run.
    let look = ToolHints::default();
    Arc::new(FakeTools::new().tool("t", "look", look, move |_| {
        let (called, open) = (Arc::clone(&called), Arc::clone(&open));
        async move {
            called.notify_one();
            open.notified().await;
            Ok(Value::Null)
        }
    }))
}

#[tokio::test]
async fn a_driver_of_the_caller_is_waited_for() {
    let engine = engine(&MemoryStore::new(), &tools());
    let start = RunStart::new(two_tasks(), Value::Null);
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let waited = engine.wait(&run, Some(handle), WaitPolicy::Drive).await;
    assert!(is_completed(&waited.unwrap()));
    // A run that has ended is returned at once, with or without driving.
    for policy in [WaitPolicy::Drive, WaitPolicy::Leave] {
        let waited = engine.wait(&run, None, policy).await.unwrap();
        assert!(is_completed(&waited));
        assert!(waited.run.unwrap().outcome.is_some());
    }
}

#[tokio::test]
async fn a_run_of_another_process_is_waited_for_until_it_ends() {
    let (store, called, open) = (MemoryStore::new(), Arc::default(), Arc::default());
    let theirs = engine(&store, &gated(&called, &open));
    let ours = engine(&store.process(), &tools());
    let start = RunStart::new(two_tasks(), Value::Null);
    let handle = theirs.start(start).await.unwrap();
    let run = handle.run.clone();
    called.notified().await;
    let waiting = tokio::spawn(async move { ours.wait(&run, None, WaitPolicy::Leave).await });
    open.notify_one();
    called.notified().await;
    assert!(!waiting.is_finished());
    open.notify_one();
    assert!(is_completed(&waiting.await.unwrap().unwrap()));
}

#[tokio::test]
async fn a_run_whose_process_died_is_driven_or_left() {
    let (store, called, open) = (MemoryStore::new(), Arc::default(), Arc::default());
    let theirs = engine(&store, &gated(&called, &open));
    let our_tools = tools();
    let ours = engine(&store.process(), &our_tools);
    let start = RunStart::new(two_tasks(), Value::Null);
    let run = theirs.start(start).await.unwrap().run.clone();
    called.notified().await;
    store.kill();
    let left = ours.wait(&run, None, WaitPolicy::Leave).await.unwrap();
    assert!(matches!(left.outcome, DriveOutcome::Stopped));
    assert_eq!(our_tools.calls().len(), 0);
    // Its call may have happened, so its new driver asks.
    let driven = ours.wait(&run, None, WaitPolicy::Drive).await.unwrap();
    assert!(matches!(driven.outcome, DriveOutcome::Paused(_)));
}

#[tokio::test]
async fn a_paused_run_is_returned_with_its_pauses_and_its_answer_ends_the_wait_for_one() {
    let store = MemoryStore::new();
    let ours = engine(&store, &tools());
    let handle = ours.start(layered()).await.unwrap();
    let run = handle.run.clone();
    let waited = ours.wait(&run, Some(handle), WaitPolicy::Drive).await;
    let DriveOutcome::Paused(pauses) = waited.unwrap().outcome else {
        panic!("the run did not pause")
    };
    let asked = Checkpoint {
        run: run.clone(),
        seq: pauses[0].0,
    };
    let (waiter, question) = (ours.clone(), asked.clone());
    let waiting = tokio::spawn(async move { waiter.wait_until_answered(&question).await });
    let theirs = engine(&store.process(), &tools());
    let answer = theirs.answer(&asked, Answer::Proceed, "ann".into(), None);
    answer.await.unwrap();
    waiting.await.unwrap().unwrap();
    let waited = ours.wait(&run, None, WaitPolicy::Drive).await.unwrap();
    assert!(is_completed(&waited));
}

#[tokio::test]
async fn an_unknown_run_is_not_waited_for() {
    let engine = engine(&MemoryStore::new(), &tools());
    let unknown = "run_unknown".parse().unwrap();
    let waited = engine.wait(&unknown, None, WaitPolicy::Drive).await;
    assert!(matches!(waited, Err(Fault::NotFound(_))));
}
