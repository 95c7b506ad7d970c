//! External commands: approvals, aborts, patches, two processes with one run.

use crate::support::{Tasks, engine, graphs, load, name, tools};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::{RunStatus, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, EngineOptions, Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::{Graph, Patch};
use tramline_workflow::ids::{Checkpoint, ToolName};
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent, SchedulePolicy};
use tramline_workflow::workflow::{Action, Edge, Join, Node, Template, Workflow};

fn call(tool: &str) -> Action {
    let arguments = Template::Literal(Value::object::<Str>([]));
    Action::Call {
        tool: ToolName::new("t", tool),
        arguments,
    }
}

fn chain(middle: Node) -> Arc<Graph> {
    let id = middle.id.clone();
    let workflow = Workflow {
        name: "chain".into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            middle,
            Node::new("exit", Action::Exit),
        ],
        edges: vec![Edge::new("entry", id.clone()), Edge::new(id, "exit")],
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

async fn paused_for_approval(engine: &Engine) -> Checkpoint {
    let node = Node {
        approval: Some("it writes".into()),
        ..Node::new("write", call("work"))
    };
    let handle = engine
        .start(RunStart::new(chain(node), Value::Null))
        .await
        .unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    assert!(matches!(pauses[0].1, Pause::Approval { .. }));
    Checkpoint {
        run,
        seq: pauses[0].0,
    }
}

#[tokio::test]
async fn an_approval_is_answered_once_and_by_whom_is_kept() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let asked = paused_for_approval(&engine).await;
    let row = engine.store().row(&asked.run).await.unwrap().unwrap();
    assert_eq!(
        (row.index_row.status, row.driven),
        (RunStatus::Paused, false)
    );
    let why = Some("looks right".to_owned());
    engine
        .approve(&asked, true, "ann".into(), why.clone())
        .await
        .unwrap();
    let late = engine
        .approve(&asked, false, "bob".into(), None)
        .await
        .unwrap_err();
    assert!(
        matches!(&late, Fault::Stale { current, .. } if current.is_empty()),
        "{late}"
    );
    let ended = engine
        .resume(&asked.run)
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    let loaded = load(&engine, &asked.run).await;
    let said = loaded.entries.iter().find_map(|entry| match &entry.event {
        Event::Run(RunEvent::Answered {
            answer, by, why, ..
        }) => Some((answer.clone(), by.clone(), why.clone())),
        _ => None,
    });
    assert_eq!(said, Some((Answer::Proceed, "ann".into(), why)));
}

#[tokio::test]
async fn who_resumes_a_paused_run_does_not_start_its_clock() {
    const LATER_MS: i64 = 600_000;
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let asked = paused_for_approval(&engine).await;
    let again = engine.resume(&asked.run).await.unwrap().wait().await;
    assert!(matches!(again, Ok(DriveOutcome::Paused(_))), "{again:?}");
    let loaded = load(&engine, &asked.run).await;
    let later = loaded.run.updated_ms + LATER_MS;
    assert!(loaded.run.active_ms(later) < LATER_MS as u64);
}

#[tokio::test]
async fn a_no_ends_the_run_and_nothing_is_called() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let asked = paused_for_approval(&engine).await;
    engine
        .approve(&asked, false, "bob".into(), Some("no".into()))
        .await
        .unwrap();
    let ended = engine
        .resume(&asked.run)
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    assert!(
        matches!(ended, DriveOutcome::Finished(Outcome::Rejected { .. })),
        "{ended:?}"
    );
    assert!(tools.calls().is_empty());
}

#[tokio::test]
async fn answers_that_fit_no_question_are_refused() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let asked = paused_for_approval(&engine).await;
    let wrong = engine
        .answer(&asked, Answer::Retry, "me".into(), None)
        .await
        .unwrap_err();
    assert!(matches!(wrong, Fault::Rejected(_)), "{wrong}");
    let elsewhere = Checkpoint {
        seq: asked.seq + 7,
        ..asked.clone()
    };
    let stale = engine
        .approve(&elsewhere, true, "me".into(), None)
        .await
        .unwrap_err();
    assert!(stale.to_string().contains(&asked.to_string()), "{stale}");
}

/// A tool that starts and never ends by itself.
fn endless() -> Arc<FakeTools> {
    Arc::new(
        FakeTools::new().tool("t", "endless", ToolHints::default(), |_| async {
            std::future::pending::<()>().await;
            Ok(Value::Null)
        }),
    )
}

async fn until_called(tools: &FakeTools) {
    while tools.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn an_abort_from_another_process_ends_a_running_call() {
    let (store, tools) = (MemoryStore::new(), endless());
    let (mine, yours) = (engine(&store, &tools), engine(&store.process(), &tools));
    let handle = mine
        .start(RunStart::new(
            chain(Node::new("hang", call("endless"))),
            Value::Null,
        ))
        .await
        .unwrap();
    let run = handle.run.clone();
    until_called(&tools).await;
    let taken = yours.resume(&run).await.err().unwrap();
    assert!(matches!(taken, Fault::Elsewhere { .. }), "{taken}");
    yours.abort(&run, "bob".into(), None).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), handle.wait())
        .await
        .unwrap()
        .unwrap();
    assert!(
        matches!(ended, DriveOutcome::Finished(Outcome::Aborted { .. })),
        "{ended:?}"
    );
    assert!(matches!(
        yours.resume(&run).await.err().unwrap(),
        Fault::Ended { .. }
    ));
}

#[tokio::test]
async fn the_end_of_its_time_ends_a_running_call() {
    let (store, tools) = (MemoryStore::new(), endless());
    let engine = engine(&store, &tools);
    let mut workflow = Workflow::clone(&chain(Node::new("hang", call("endless"))).workflow);
    workflow.limits.active_ms_max = 60;
    let graph = Arc::new(Graph::build(workflow).unwrap().0);
    let handle = engine
        .start(RunStart::new(graph, Value::Null))
        .await
        .unwrap();
    let DriveOutcome::Finished(Outcome::Failed { failure, .. }) = handle.wait().await.unwrap()
    else {
        panic!("the run did not fail");
    };
    assert!(failure.message.contains("maxExecutionTimeMs"), "{failure}");
}

#[tokio::test]
async fn a_stopped_engine_leaves_a_run_to_be_resumed() {
    let (store, tools) = (MemoryStore::new(), endless());
    let mine = engine(&store, &tools);
    let handle = mine
        .start(RunStart::new(
            chain(Node::new("hang", call("endless"))),
            Value::Null,
        ))
        .await
        .unwrap();
    let run = handle.run.clone();
    until_called(&tools).await;
    mine.stop();
    assert_eq!(handle.wait().await.unwrap(), DriveOutcome::Stopped);
    let yours = engine(&store.process(), &tools);
    let DriveOutcome::Paused(pauses) = yours.resume(&run).await.unwrap().wait().await.unwrap()
    else {
        panic!("the run did not pause");
    };
    assert!(matches!(pauses[0].1, Pause::InDoubt { .. }), "{pauses:?}");
}

#[tokio::test]
async fn a_patch_adds_tasks_after_what_is_done() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let tasks = Tasks {
        waits_for: vec![vec![], vec![0]],
        fails: vec![false; 2],
        repeatable: vec![true; 2],
    };
    let mut start = RunStart::new(tasks.graph(), Value::Null);
    start.policy = SchedulePolicy::Layered;
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause at a layer")
    };
    let patch = Patch {
        nodes: vec![Node {
            join: Join::All,
            ..Node::new("more", call("look"))
        }],
        edges: vec![Edge::new(name(0), "more"), Edge::new(name(1), "more")],
    };
    let wrong = Patch {
        edges: vec![Edge::new("nowhere", "more")],
        ..patch.clone()
    };
    assert!(engine.amend(&run, wrong, "me".into()).await.is_err());
    engine.amend(&run, patch, "me".into()).await.unwrap();
    let mut at = pauses[0].0;
    loop {
        let asked = Checkpoint {
            run: run.clone(),
            seq: at,
        };
        engine
            .answer(&asked, Answer::Proceed, "me".into(), None)
            .await
            .unwrap();
        match engine.resume(&run).await.unwrap().wait().await.unwrap() {
            DriveOutcome::Paused(pauses) => at = pauses[0].0,
            DriveOutcome::Finished(Outcome::Completed { result }) => {
                assert!(result.get("more").is_some(), "{result}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn events_can_be_followed_from_another_process() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (mine, yours) = (engine(&store, &tools), engine(&store.process(), &tools));
    let tasks = Tasks {
        waits_for: vec![vec![], vec![0]],
        fails: vec![false; 2],
        repeatable: vec![false; 2],
    };
    let handle = mine
        .start(RunStart::new(tasks.graph(), Value::Null))
        .await
        .unwrap();
    let mut follow = yours.subscribe(handle.run.clone(), 0);
    let mut seqs = Vec::new();
    while let Some(entry) = follow.next().await.unwrap() {
        seqs.push(entry.seq);
    }
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    handle.wait().await.unwrap();
}

#[tokio::test]
async fn unfinished_runs_go_on_at_start_up() {
    let store = MemoryStore::new();
    let reads = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    // Long enough that the start of the run is durable before the first answer.
    let slow = FakeTools::new()
        .tool("t", "look", reads, |_| async { Ok(Value::Null) })
        .delay(Duration::from_millis(50));
    let tools = Arc::new(slow);
    store.crash_after(1);
    let tasks = Tasks {
        waits_for: vec![vec![], vec![0]],
        fails: vec![false; 2],
        repeatable: vec![true; 2],
    };
    let mine = engine(&store, &tools);
    let _ = mine
        .start(RunStart::new(tasks.graph(), Value::Null))
        .await
        .unwrap()
        .wait()
        .await;
    let yours = engine(&store.process(), &tools);
    let recovered = yours.recover(|_| true).await.unwrap();
    assert_eq!((recovered.driven.len(), recovered.failed.len()), (1, 0));
    for handle in recovered.driven {
        assert!(matches!(
            handle.wait().await.unwrap(),
            DriveOutcome::Finished(Outcome::Completed { .. })
        ));
    }
}

#[tokio::test]
async fn no_more_steps_at_once_than_the_width() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let tools = FakeTools::new().tool("t", "look", ToolHints::default(), |_| async {
        MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        NOW.fetch_sub(1, Ordering::SeqCst);
        Ok(Value::Null)
    });
    let tasks = Tasks {
        waits_for: vec![vec![]; 12],
        fails: vec![false; 12],
        repeatable: vec![true; 12],
    };
    let options = EngineOptions {
        steps_in_flight_max: 3,
        ..EngineOptions::default()
    };
    let engine = Engine::new(Arc::new(MemoryStore::new()), Arc::new(tools), options);
    let handle = engine
        .start(RunStart::new(tasks.graph(), Value::Null))
        .await
        .unwrap();
    assert!(matches!(
        handle.wait().await.unwrap(),
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(MOST.load(Ordering::SeqCst), 3);
}

/// A loop that only computes, and would run for millions of iterations.
fn hot() -> Arc<Graph> {
    const HOT: &str = "
  - name: hot
    description: Turns.
    inputSchema: {type: object}
    executionLimits: {maxNodeExecutions: 1000000000}
    nodes:
      - {id: entry, type: entry, next: turn}
      - {id: turn, type: transform, transform: {expr: '1'}, next: more}
      - id: more
        type: switch
        conditions: [{rule: {'==': [1, 1]}, next: turn}]
        next: exit
      - {id: exit, type: exit}
";
    graphs(HOT).remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_never_waits_can_be_aborted_from_here_and_from_elsewhere() {
    let (store, tools) = (MemoryStore::new(), tools());
    let first = engine(&store, &tools);
    let other = engine(&store.process(), &tools);
    for who in [&first, &other] {
        let handle = first
            .start(RunStart::new(hot(), Value::object::<Str>([])))
            .await
            .unwrap();
        let run = handle.run.clone();
        let mut follow = first.subscribe(run.clone(), 0);
        follow.next().await.unwrap();
        who.abort(&run, "me".into(), None).await.unwrap();
        let ended = handle.wait().await.unwrap();
        assert!(
            matches!(ended, DriveOutcome::Finished(Outcome::Aborted { .. })),
            "{ended:?}"
        );
    }
}
