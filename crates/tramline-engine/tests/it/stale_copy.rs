//! Answers given from a copy of a run that is behind its journal: another process went on with the
//! run, died in the middle of a call, or still drives it.

use crate::support::{dag, done, engine, load};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tramline_core::failure::Failure;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Answer, Event, Outcome, Pause};
use tramline_core::{Str, Value};
use tramline_engine::seams::Hints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Ended, Engine, Fault, Said, Start};

/// More than anything here takes.
const SOON: Duration = Duration::from_secs(10);

/// Two tasks without an order, both of which a person must agree to, and one after them.
fn two_questions() -> Arc<Graph> {
    dag(r#"{"tasks": [
        {"id": "t0", "tool": "t:slow", "arguments": {"task": "t0"}, "approval": true},
        {"id": "t4", "tool": "t:work", "arguments": {"task": "t4"}, "approval": true},
        {"id": "t5", "tool": "t:work", "arguments": {"task": "t5"}, "depends_on": ["t4"]}
    ]}"#)
}

/// `slow` begins and ends only when told; `work` does something that must not be done twice.
fn slow_tools(go: &Arc<Notify>) -> Arc<FakeTools> {
    let go = Arc::clone(go);
    let tools = FakeTools::new()
        .tool("t", "work", Hints::default(), |arguments| async move {
            Ok::<_, Failure>(done(&arguments))
        })
        .tool("t", "slow", Hints::default(), move |arguments| {
            let go = Arc::clone(&go);
            async move {
                go.notified().await;
                Ok(done(&arguments))
            }
        });
    Arc::new(tools)
}

fn yes(pause: Seq) -> Vec<Said> {
    said(pause, Answer::Proceed)
}

fn said(pause: Seq, answer: Answer) -> Vec<Said> {
    let (by, why) = ("me".into(), None);
    vec![Said {
        pause,
        answer,
        by,
        why,
    }]
}

/// Starts a run that waits with both questions, and gives their places by node.
async fn waiting(engine: &Engine) -> (RunId, BTreeMap<Str, Seq>) {
    let start = Start::new(two_questions(), Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let paused = handle.ended().await.unwrap();
    assert!(matches!(paused, Ended::Paused(_)), "{paused:?}");
    let questions = questions(engine, &run).await;
    assert_eq!(questions.len(), 2);
    (run, questions)
}

/// The open questions of a run by the node that they are about.
async fn questions(engine: &Engine, run: &RunId) -> BTreeMap<Str, Seq> {
    let loaded = load(engine, run).await;
    let pauses = loaded.run.pauses.iter();
    pauses
        .filter_map(|(seq, pause)| Some((loaded.run.graph.node(pause.node()?).id.clone(), *seq)))
        .collect()
}

async fn until_called(tools: &FakeTools, tool: &str) {
    let called = || tools.calls().iter().any(|call| call.tool.tool == tool);
    while !called() {
        tokio::task::yield_now().await;
    }
}

fn calls_of(tools: &FakeTools, task: &str) -> usize {
    let is_it = |value: &Value| value.get("task").and_then(Value::as_str) == Some(task);
    let calls = tools.calls();
    calls.iter().filter(|call| is_it(&call.arguments)).count()
}

/// What every step of a run was begun with, and that each was begun at one node only.
async fn begun(engine: &Engine, run: &RunId) -> BTreeMap<Str, Value> {
    let loaded = load(engine, run).await;
    let mut nodes = BTreeMap::new();
    let mut arguments = BTreeMap::new();
    for entry in &loaded.entries {
        if let Event::StepStarted {
            step,
            node,
            attempt,
            arguments: with,
            ..
        } = &entry.event
        {
            assert_eq!(*nodes.entry(*step).or_insert(*node), *node, "step {step}");
            if *attempt == 1 {
                arguments.insert(loaded.run.graph.node(*node).id.clone(), with.clone());
            }
        }
    }
    arguments
}

/// The run waits with the one question whether `t0` happened.
async fn is_in_doubt(engine: &Engine, run: &RunId) -> Seq {
    let loaded = load(engine, run).await;
    let pauses: Vec<_> = loaded.run.pauses.iter().collect();
    let [(seq, Pause::InDoubt { node, .. })] = pauses.as_slice() else {
        panic!("not in doubt: {pauses:?}");
    };
    assert_eq!(loaded.run.graph.node(*node).id, "t0");
    **seq
}

#[tokio::test]
async fn a_call_that_a_dead_process_left_is_in_doubt_for_who_answers_from_a_stale_copy() {
    let (store, go) = (MemoryStore::new(), Arc::new(Notify::new()));
    let tools = slow_tools(&go);
    let server = engine(&store, &tools);
    let (run, asked) = waiting(&server).await;

    let other_store = store.process();
    let other = engine(&other_store, &tools);
    let driven = other.go_on_with(&run, yes(asked["t0"])).await.unwrap();
    until_called(&tools, "slow").await;
    other_store.kill();
    drop(driven);

    let handle = server.go_on_with(&run, yes(asked["t4"])).await.unwrap();
    let ended = tokio::time::timeout(SOON, handle.unwrap().ended()).await;
    let ended = ended.expect("it waits for nobody").unwrap();
    assert!(matches!(ended, Ended::Paused(_)), "{ended:?}");
    let doubt = is_in_doubt(&server, &run).await;
    let tasks = ["t0", "t4", "t5"].map(|task| calls_of(&tools, task));
    assert_eq!(tasks, [1, 1, 1]);
    let begun = begun(&server, &run).await;
    assert_eq!(begun["t0"].get("task").and_then(Value::as_str), Some("t0"));
    assert_eq!(begun["t4"].get("task").and_then(Value::as_str), Some("t4"));

    let answer = Answer::Skip {
        output: "it was done".into(),
    };
    let handle = server.go_on_with(&run, said(doubt, answer)).await.unwrap();
    let ended = handle.unwrap().ended().await.unwrap();
    let is_completed = matches!(ended, Ended::Finished(Outcome::Completed { .. }));
    assert!(is_completed, "{ended:?}");
    assert_eq!(calls_of(&tools, "t0"), 1);
}

#[tokio::test]
async fn it_stays_answerable_when_a_third_process_touched_it() {
    for touch in ["watch", "resume", "answer"] {
        let (store, go) = (MemoryStore::new(), Arc::new(Notify::new()));
        let tools = slow_tools(&go);
        let server = engine(&store, &tools);
        let (run, asked) = waiting(&server).await;
        let other_store = store.process();
        let other = engine(&other_store, &tools);
        let _driven = other.go_on_with(&run, yes(asked["t0"])).await.unwrap();
        until_called(&tools, "slow").await;
        other_store.kill();

        let third = engine(&store.process(), &tools);
        match touch {
            "watch" => third
                .watch(&run, Default::default(), "third".into())
                .await
                .unwrap(),
            "resume" => drop(third.resume(&run).await.unwrap().ended().await.unwrap()),
            _ => {
                let (by, why) = ("third".into(), None);
                let asked = tramline_core::ids::Checkpoint {
                    run: run.clone(),
                    seq: asked["t4"],
                };
                let answered = third.answer(&asked, Answer::Proceed, by, why).await;
                answered.unwrap();
            }
        }
        let late = server.go_on_with(&run, yes(asked["t4"])).await;
        let late = match late {
            Ok(handle) => handle.unwrap().ended().await.map(drop),
            Err(fault) => Err(fault),
        };
        match touch {
            "answer" => {
                let late = late.unwrap_err();
                assert!(matches!(late, Fault::Stale { .. }), "{late}");
                let third = third.resume(&run).await.unwrap();
                third.ended().await.unwrap();
            }
            _ => late.unwrap(),
        }
        is_in_doubt(&server, &run).await;
        let tasks = ["t0", "t4", "t5"].map(|task| calls_of(&tools, task));
        assert_eq!(tasks, [1, 1, 1], "{touch}");
        begun(&server, &run).await;
    }
}

#[tokio::test]
async fn a_run_that_another_process_still_drives_hears_the_answer() {
    let (store, go) = (MemoryStore::new(), Arc::new(Notify::new()));
    let tools = slow_tools(&go);
    let server = engine(&store, &tools);
    let (run, asked) = waiting(&server).await;
    let other = engine(&store.process(), &tools);
    let driven = other.go_on_with(&run, yes(asked["t0"])).await.unwrap();
    until_called(&tools, "slow").await;

    // The copy here is behind: it does not know that the run is driven.
    let handle = server.go_on_with(&run, yes(asked["t4"])).await.unwrap();
    if let Some(handle) = handle {
        handle.heard().await.unwrap();
    }
    go.notify_one();
    let ended = tokio::time::timeout(SOON, driven.unwrap().ended()).await;
    let ended = ended.expect("the answer was not heard").unwrap();
    assert!(
        matches!(ended, Ended::Finished(Outcome::Completed { .. })),
        "{ended:?}"
    );
    let tasks = ["t0", "t4", "t5"].map(|task| calls_of(&tools, task));
    assert_eq!(tasks, [1, 1, 1]);
}
