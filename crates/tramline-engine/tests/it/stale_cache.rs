//! Answers from a stale cached run: another process resumed the run, crashed in the middle of a
//! call, or still drives it.

use crate::support::{dag, done, engine, load};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, Fault, PauseAnswer, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::Failure;
use tramline_workflow::graph::{Graph, Patch};
use tramline_workflow::ids::{RunId, Seq, ToolName};
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent, SchedulePolicy};
use tramline_workflow::workflow::{Action, Join, Node, Template};

/// More than anything here takes.
const SOON: Duration = Duration::from_secs(10);

/// Two tasks without an order, both with approval, and one after them.
fn two_questions() -> Arc<Graph> {
    dag(r#"{"tasks": [
        {"id": "t0", "tool": "t:slow", "arguments": {"task": "t0"}, "approval": true},
        {"id": "t4", "tool": "t:work", "arguments": {"task": "t4"}, "approval": true},
        {"id": "t5", "tool": "t:work", "arguments": {"task": "t5"}, "depends_on": ["t4"]}
    ]}"#)
}

/// `slow` starts and ends only on a signal; `work` must not be repeated.
fn slow_tools(go: &Arc<Notify>) -> Arc<FakeTools> {
    let go = Arc::clone(go);
    let tools = FakeTools::new()
        .tool("t", "work", ToolHints::default(), |arguments| async move {
            Ok::<_, Failure>(done(&arguments))
        })
        .tool("t", "slow", ToolHints::default(), move |arguments| {
            let go = Arc::clone(&go);
            async move {
                go.notified().await;
                Ok(done(&arguments))
            }
        });
    Arc::new(tools)
}

fn yes(pause: Seq) -> Vec<PauseAnswer> {
    said(pause, Answer::Proceed)
}

fn said(pause: Seq, answer: Answer) -> Vec<PauseAnswer> {
    let (by, why) = ("me".into(), None);
    vec![PauseAnswer {
        pause,
        answer,
        by,
        why,
    }]
}

/// Starts a run that pauses with both approvals, and returns them by node.
async fn waiting(engine: &Engine) -> (RunId, BTreeMap<Str, Seq>) {
    let start = RunStart::new(two_questions(), Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let paused = handle.wait().await.unwrap();
    assert!(matches!(paused, DriveOutcome::Paused(_)), "{paused:?}");
    let questions = questions(engine, &run).await;
    assert_eq!(questions.len(), 2);
    (run, questions)
}

/// The pending pauses of a run by node.
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

/// The input of every step of a run; checks that each step belongs to one node only.
async fn begun(engine: &Engine, run: &RunId) -> BTreeMap<Str, Value> {
    let loaded = load(engine, run).await;
    let mut nodes = BTreeMap::new();
    let mut arguments = BTreeMap::new();
    for entry in &loaded.entries {
        if let Event::Run(RunEvent::StepStarted {
            step,
            node,
            attempt,
            arguments: with,
            ..
        }) = &entry.event
        {
            assert_eq!(*nodes.entry(*step).or_insert(*node), *node, "step {step}");
            if *attempt == 1 {
                arguments.insert(loaded.run.graph.node(*node).id.clone(), with.clone());
            }
        }
    }
    arguments
}

/// The run has only the pause about `t0` being in doubt.
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
    let driven = other
        .answer_and_resume(&run, yes(asked["t0"]))
        .await
        .unwrap();
    until_called(&tools, "slow").await;
    other_store.kill();
    drop(driven);

    let handle = server
        .answer_and_resume(&run, yes(asked["t4"]))
        .await
        .unwrap();
    let ended = tokio::time::timeout(SOON, handle.unwrap().wait()).await;
    let ended = ended.expect("the run did not end in time").unwrap();
    assert!(matches!(ended, DriveOutcome::Paused(_)), "{ended:?}");
    let doubt = is_in_doubt(&server, &run).await;
    let tasks = ["t0", "t4", "t5"].map(|task| calls_of(&tools, task));
    assert_eq!(tasks, [1, 1, 1]);
    let begun = begun(&server, &run).await;
    assert_eq!(begun["t0"].get("task").and_then(Value::as_str), Some("t0"));
    assert_eq!(begun["t4"].get("task").and_then(Value::as_str), Some("t4"));

    let answer = Answer::Skip {
        output: "it was done".into(),
    };
    let handle = server
        .answer_and_resume(&run, said(doubt, answer))
        .await
        .unwrap();
    let ended = handle.unwrap().wait().await.unwrap();
    let is_completed = matches!(ended, DriveOutcome::Finished(Outcome::Completed { .. }));
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
        let _driven = other
            .answer_and_resume(&run, yes(asked["t0"]))
            .await
            .unwrap();
        until_called(&tools, "slow").await;
        other_store.kill();

        let third = engine(&store.process(), &tools);
        match touch {
            "watch" => third
                .set_breakpoints(&run, Default::default(), "third".into())
                .await
                .unwrap(),
            "resume" => drop(third.resume(&run).await.unwrap().wait().await.unwrap()),
            _ => {
                let (by, why) = ("third".into(), None);
                let asked = tramline_workflow::ids::Checkpoint {
                    run: run.clone(),
                    seq: asked["t4"],
                };
                let answered = third.answer(&asked, Answer::Proceed, by, why).await;
                answered.unwrap();
            }
        }
        let late = server.answer_and_resume(&run, yes(asked["t4"])).await;
        let late = match late {
            Ok(handle) => handle.unwrap().wait().await.map(drop),
            Err(fault) => Err(fault),
        };
        match touch {
            "answer" => {
                let late = late.unwrap_err();
                assert!(matches!(late, Fault::Stale { .. }), "{late}");
                let third = third.resume(&run).await.unwrap();
                third.wait().await.unwrap();
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
    let driven = other
        .answer_and_resume(&run, yes(asked["t0"]))
        .await
        .unwrap();
    until_called(&tools, "slow").await;

    // The cached run is stale: it does not show that the run is driven.
    let handle = server
        .answer_and_resume(&run, yes(asked["t4"]))
        .await
        .unwrap();
    if let Some(handle) = handle {
        handle.answers_recorded().await.unwrap();
    }
    go.notify_one();
    let ended = tokio::time::timeout(SOON, driven.unwrap().wait()).await;
    let ended = ended.expect("the answer was not applied").unwrap();
    assert!(
        matches!(ended, DriveOutcome::Finished(Outcome::Completed { .. })),
        "{ended:?}"
    );
    let tasks = ["t0", "t4", "t5"].map(|task| calls_of(&tools, task));
    assert_eq!(tasks, [1, 1, 1]);
}

#[tokio::test]
async fn a_repeatable_call_is_not_sent_from_a_stale_copy() {
    let (store, tools) = (MemoryStore::new(), crate::support::tools());
    let engine = engine(&store, &tools);
    let graph = dag(r#"{"tasks": [
        {"id": "a", "tool": "t:look", "arguments": {"task": "a"}},
        {"id": "b", "tool": "t:look", "arguments": {"task": "b"}, "depends_on": ["a"]}
    ]}"#);
    let mut start = RunStart::new(graph, Value::object::<Str>([]));
    start.policy = SchedulePolicy::Layered;
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause");
    };
    // The cached copy of the run does not have the new task.
    let action = Action::Call {
        tool: ToolName::new("t", "look"),
        arguments: Template::Literal(Value::object([("task", "z".into())])),
    };
    let patch = Patch {
        nodes: vec![Node {
            join: Join::All,
            ..Node::new("z", action)
        }],
        edges: Vec::new(),
    };
    engine.amend(&run, patch, "me".into()).await.unwrap();
    let handle = engine.answer_and_resume(&run, yes(pauses[0].0)).await;
    handle.unwrap().unwrap().wait().await.unwrap();
    let tasks = ["a", "b", "z"].map(|task| calls_of(&tools, task));
    assert_eq!(tasks, [1, 1, 1]);
}
