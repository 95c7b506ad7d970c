//! Calls that failed after they were sent: they may have happened, and are never simply repeated.

use crate::support::{dag, done, engine, engine_among, graphs, load};
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, PauseAnswer, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent};
use tramline_workflow::workflow::{
    Action, ERROR_LABEL, Edge, Node, RetryPolicy, Template, Workflow, WorkflowLimits,
};

/// `lost` is executed but its answer never arrives; `away` is never sent; both fail in the same
/// manner.
fn tools() -> Arc<FakeTools> {
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let lost = || Failure::new(FailureKind::Unavailable, "its server was lost").after_sending();
    let tools = FakeTools::new()
        .tool("t", "lost", ToolHints::default(), move |_| async move {
            Err(lost())
        })
        .tool("t", "looks", looks, move |_| async move { Err(lost()) })
        .tool("t", "away", ToolHints::default(), |_| async {
            let data = Value::object([("sent", false.into())]);
            let failure = Failure::new(FailureKind::Unavailable, "it could not be started");
            Err(failure.with_data(data))
        })
        .tool("t", "work", ToolHints::default(), |given| async move {
            Ok(done(&given))
        })
        .tool("t", "endless", ToolHints::default(), |_| {
            std::future::pending()
        });
    Arc::new(tools)
}

const TWICE: RetryPolicy = RetryPolicy {
    max: 2,
    wait_ms: 1,
    backoff: 1.0,
};

/// One call with retries, and optionally an error edge.
fn one(tool: &str, handled: bool) -> Arc<Graph> {
    let arguments = Template::Literal(Value::object::<Str>([]));
    let tool = ToolName::new("t", tool);
    let mut it = Node::new("it", Action::Call { tool, arguments });
    it.retry = Some(TWICE);
    let mut edges = vec![Edge::new("entry", "it"), Edge::new("it", "exit")];
    if handled {
        edges.push(Edge::labelled("it", "exit", ERROR_LABEL));
    }
    let workflow = Workflow {
        name: "one".into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            it,
            Node::new("exit", Action::Exit),
        ],
        edges,
        limits: WorkflowLimits {
            active_ms_max: 200,
            ..WorkflowLimits::default()
        },
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

async fn run(engine: &Engine, graph: Arc<Graph>) -> (tramline_workflow::ids::RunId, DriveOutcome) {
    let input = Value::object::<Str>([]);
    let handle = engine.start(RunStart::new(graph, input)).await.unwrap();
    (handle.run.clone(), handle.wait().await.unwrap())
}

fn failed(ended: DriveOutcome) -> Failure {
    match ended {
        DriveOutcome::Finished(Outcome::Failed { failure, .. }) => failure,
        other => panic!("the run did not fail: {other:?}"),
    }
}

#[tokio::test]
async fn an_unrepeatable_call_is_asked_about_and_not_retried() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (id, ended) = run(&engine, one("lost", false)).await;
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("the run did not pause: {ended:?}");
    };
    let [(seq, Pause::InDoubt { .. })] = pauses.as_slice() else {
        panic!("{pauses:?}");
    };
    assert_eq!(tools.calls().len(), 1);
    // Another process that resumes it asks the same, and repeats nothing.
    let other = crate::support::engine(&store.process(), &tools);
    let ended = other.resume(&id).await.unwrap().wait().await.unwrap();
    assert!(matches!(ended, DriveOutcome::Paused(_)), "{ended:?}");
    let trace = engine.trace(&id).await.unwrap();
    let step = trace.steps.iter().find(|step| step.node == "it").unwrap();
    assert!(step.may_have_happened && step.retried[0].may_have_happened);
    let asked = trace.pauses.last().unwrap();
    assert_eq!(asked.reason.as_deref(), Some("its server was lost"));

    let said = PauseAnswer {
        pause: *seq,
        answer: Answer::Skip { output: 7.into() },
        by: "me".into(),
        why: None,
    };
    let handle = other
        .answer_and_resume(&id, vec![said])
        .await
        .unwrap()
        .unwrap();
    let ended = handle.wait().await.unwrap();
    assert!(
        matches!(ended, DriveOutcome::Finished(Outcome::Completed { .. })),
        "{ended:?}"
    );
    assert_eq!(tools.calls().len(), 1);
    let trace = engine.trace(&id).await.unwrap();
    assert!(trace.steps.iter().all(|step| !step.may_have_happened));
}

#[tokio::test]
async fn a_way_for_failures_is_taken() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (id, ended) = run(&engine, one("lost", true)).await;
    let DriveOutcome::Finished(Outcome::Completed { result }) = ended else {
        panic!("{ended:?}");
    };
    let error = result.get("error").unwrap();
    assert_eq!(error.get("may_have_happened"), Some(&true.into()));
    assert_eq!(tools.calls().len(), 1);
    let trace = engine.trace(&id).await.unwrap();
    assert!(trace.steps.iter().any(|step| step.may_have_happened));
}

#[tokio::test]
async fn what_only_looks_or_never_left_is_never_in_doubt() {
    for (tool, calls) in [("looks", 3), ("away", 3)] {
        let (store, tools) = (MemoryStore::new(), tools());
        let engine = engine(&store, &tools);
        let (_, ended) = run(&engine, one(tool, false)).await;
        failed(ended);
        assert_eq!(tools.calls().len(), calls, "{tool}");
    }
}

#[tokio::test]
async fn a_task_that_may_have_happened_is_asked_about() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let tasks = dag(r#"{"tasks": [
        {"id": "a", "tool": "t:lost", "arguments": {"task": "a"}},
        {"id": "b", "tool": "t:work", "arguments": {"task": "b"}, "depends_on": ["a"]}
    ]}"#);
    let (_, ended) = run(&engine, tasks).await;
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("{ended:?}");
    };
    assert!(matches!(pauses[0].1, Pause::InDoubt { .. }), "{pauses:?}");
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn a_call_that_the_end_of_its_run_cuts_off_may_have_happened() {
    // At the run's time limit.
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (id, ended) = run(&engine, one("endless", false)).await;
    let failure = failed(ended);
    assert_eq!(
        (failure.kind, failure.may_have_happened),
        (FailureKind::Limit, true)
    );
    let trace = engine.trace(&id).await.unwrap();
    assert!(trace.steps.iter().any(|step| step.may_have_happened));
    // By an abort.
    let start = RunStart::new(one("endless", false), Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    let id = handle.run.clone();
    let started = |event: &Event| matches!(event, Event::Run(RunEvent::StepStarted { .. }));
    let mut follow = engine.subscribe(id.clone(), 0);
    while let Some(entry) = follow.next().await.unwrap() {
        if started(&entry.event) {
            break;
        }
    }
    engine.abort(&id, "me".into(), None).await.unwrap();
    handle.wait().await.unwrap();
    let trace = engine.trace(&id).await.unwrap();
    let step = trace.steps.iter().find(|step| step.node == "it").unwrap();
    assert!(step.may_have_happened, "{step:?}");
    assert!(load(&engine, &id).await.run.outcome.is_some());
}

/// `loses` calls a tool that is lost; `calls` calls that as a workflow, with and without an error
/// edge; `each` calls it for three items, and `kept` keeps the failures of its items.
fn nested() -> Vec<Arc<Graph>> {
    graphs(
        r"- name: loses
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: it}
    - {id: it, type: mcp, server: t, tool: lost, args: {}, next: exit}
    - {id: exit, type: exit}
- name: calls
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: inner}
    - {id: inner, type: workflow, workflow: loses, args: {}, next: exit}
    - {id: exit, type: exit}
- name: each
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: it}
    - {id: it, type: mcp, server: t, tool: lost, map: {over: [1, 2, 3]}, args: {task: $item}, next: exit}
    - {id: exit, type: exit}
- name: kept
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: it}
    - {id: it, type: mcp, server: t, tool: lost, map: {over: [1, 2, 3], on-failure: keep}, args: {task: $item}, next: exit}
    - {id: exit, type: exit}",
    )
}

fn in_doubt(pauses: &[(tramline_workflow::ids::Seq, Pause)]) -> usize {
    let doubtful = |pause: &Pause| matches!(pause, Pause::InDoubt { .. });
    pauses.iter().filter(|(_, pause)| doubtful(pause)).count()
}

/// The child pauses, its parent waits for it, and neither repeats the call, whichever process
/// resumes them.
#[tokio::test]
async fn a_call_in_a_called_workflow_is_asked_about_there_and_not_repeated() {
    let (store, tools) = (MemoryStore::new(), tools());
    let graphs = nested();
    let engine = engine_among(&store, &tools, &graphs);
    let (id, ended) = run(&engine, Arc::clone(&graphs[1])).await;
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("{ended:?}");
    };
    let [(_, Pause::Child { run: child, .. })] = pauses.as_slice() else {
        panic!("{pauses:?}");
    };
    let waits: Vec<_> = load(&engine, child).await.run.pauses.into_iter().collect();
    assert_eq!(in_doubt(&waits), 1, "{waits:?}");
    let other = engine_among(&store.process(), &tools, &graphs);
    for run in [&id, child] {
        let ended = other.resume(run).await.unwrap().wait().await.unwrap();
        assert!(matches!(ended, DriveOutcome::Paused(_)), "{ended:?}");
    }
    assert_eq!(tools.calls().len(), 1);
    // The decision about the child is the parent's result.
    let said = PauseAnswer {
        pause: waits[0].0,
        answer: Answer::Skip { output: 7.into() },
        by: "me".into(),
        why: None,
    };
    let handle = other
        .answer_and_resume(child, vec![said])
        .await
        .unwrap()
        .unwrap();
    handle.wait().await.unwrap();
    let ended = match other.resume(&id).await {
        Ok(handle) => handle.wait().await.unwrap(),
        Err(_) => DriveOutcome::Finished(load(&other, &id).await.run.outcome.unwrap()),
    };
    let DriveOutcome::Finished(Outcome::Completed { result }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(result, 7.into());
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn every_item_that_may_have_happened_is_asked_about_by_itself() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graphs = nested();
    let (id, ended) = run(&engine, Arc::clone(&graphs[2])).await;
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(in_doubt(&pauses), 3, "{pauses:?}");
    let other = crate::support::engine(&store.process(), &tools);
    let ended = other.resume(&id).await.unwrap().wait().await.unwrap();
    assert!(matches!(ended, DriveOutcome::Paused(_)), "{ended:?}");
    assert_eq!(tools.calls().len(), 3, "each item is sent once");
    let said = pauses.iter().map(|(seq, _)| PauseAnswer {
        pause: *seq,
        answer: Answer::Skip { output: 7.into() },
        by: "me".into(),
        why: None,
    });
    let handle = other.answer_and_resume(&id, said.collect()).await.unwrap();
    let ended = handle.unwrap().wait().await.unwrap();
    assert!(
        matches!(ended, DriveOutcome::Finished(Outcome::Completed { .. })),
        "{ended:?}"
    );
    assert_eq!(tools.calls().len(), 3);
}

/// If the document keeps the failures of items, these say that the call may have happened.
#[tokio::test]
async fn kept_failures_of_items_carry_that_they_may_have_happened() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (id, ended) = run(&engine, Arc::clone(&nested()[3])).await;
    assert!(
        matches!(ended, DriveOutcome::Finished(Outcome::Completed { .. })),
        "{ended:?}"
    );
    let trace = engine.trace(&id).await.unwrap();
    let items = trace.steps.iter().filter(|step| step.item.is_some());
    let marked = items.filter(|step| step.may_have_happened).count();
    assert_eq!((marked, tools.calls().len()), (3, 3));
}
