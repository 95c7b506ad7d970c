//! Budgets: a run that has used its budget pauses, and continues where it was.

use crate::support::{Tasks, engine, engine_among, graphs, load, tools};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::{RunStatus, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::authority::BudgetSource;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Budget, BudgetPart, Event, Outcome, Pause, RunEvent};
use tramline_workflow::workflow::RetryPolicy;

fn chain(tasks: usize) -> Arc<Graph> {
    Tasks {
        waits_for: (0..tasks)
            .map(|task| task.checked_sub(1).into_iter().collect())
            .collect(),
        fails: vec![false; tasks],
        repeatable: vec![false; tasks],
    }
    .graph()
}

fn wide(tasks: usize) -> Arc<Graph> {
    Tasks {
        waits_for: vec![vec![]; tasks],
        fails: vec![false; tasks],
        repeatable: vec![true; tasks],
    }
    .graph()
}

fn start(graph: &Arc<Graph>, budget: Budget) -> RunStart {
    let mut start = RunStart::new(Arc::clone(graph), Value::object::<Str>([]));
    start.budget = Some(budget);
    start
}

fn calls(most: u64) -> Budget {
    Budget::of_part(BudgetPart::Calls, most)
}

fn asked(ended: DriveOutcome) -> (Seq, Pause) {
    match ended {
        DriveOutcome::Paused(mut pauses) if pauses.len() == 1 => pauses.remove(0),
        other => panic!("{other:?}"),
    }
}

async fn say(engine: &Engine, run: &RunId, seq: Seq, answer: Answer) -> Result<(), Fault> {
    let asked = Checkpoint {
        run: run.clone(),
        seq,
    };
    engine.answer(&asked, answer, "me".into(), None).await
}

async fn extended(engine: &Engine, run: &RunId, seq: Seq, budget: Budget) -> DriveOutcome {
    say(engine, run, seq, Answer::Extend { budget })
        .await
        .unwrap();
    engine.resume(run).await.unwrap().wait().await.unwrap()
}

#[tokio::test]
async fn a_run_asks_when_its_calls_are_spent_and_goes_on_when_there_are_more() {
    for graph in [chain(5), wide(5)] {
        let (store, tools) = (MemoryStore::new(), tools());
        let engine = engine(&store, &tools);
        let handle = engine.start(start(&graph, calls(2))).await.unwrap();
        let run = handle.run.clone();
        let (seq, pause) = asked(handle.wait().await.unwrap());
        let spent = Pause::Budget {
            what: BudgetPart::Calls,
            used: 2,
            limit: 2,
            source: Some(BudgetSource::Caller),
        };
        assert_eq!((pause, tools.calls().len()), (spent, 2));
        let row = engine.store().row(&run).await.unwrap().unwrap();
        assert_eq!(row.index_row.status, RunStatus::Paused);
        let wrong = Answer::Extend {
            budget: Budget::of_part(BudgetPart::Time, 5),
        };
        for no_answer in [Answer::Proceed, wrong] {
            let fault = say(&engine, &run, seq, no_answer).await.unwrap_err();
            assert!(fault.to_string().contains("extend `calls`"), "{fault}");
        }
        let (seq, _) = asked(extended(&engine, &run, seq, calls(2)).await);
        assert_eq!(tools.calls().len(), 4);
        let ended = extended(&engine, &run, seq, calls(1)).await;
        assert!(matches!(
            ended,
            DriveOutcome::Finished(Outcome::Completed { .. })
        ));
        assert_eq!(tools.calls().len(), 5);
    }
}

#[tokio::test]
async fn enough_is_no_question_and_no_ends_the_run() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let handle = engine.start(start(&chain(3), calls(3))).await.unwrap();
    let ended = handle.wait().await.unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    for budget in [calls(0), Budget::of_part(BudgetPart::Bytes, 1)] {
        let handle = engine.start(start(&chain(3), budget)).await.unwrap();
        let run = handle.run.clone();
        let (seq, _) = asked(handle.wait().await.unwrap());
        say(&engine, &run, seq, Answer::Reject).await.unwrap();
        let ended = engine.resume(&run).await.unwrap().wait().await.unwrap();
        assert!(matches!(
            ended,
            DriveOutcome::Finished(Outcome::Rejected { .. })
        ));
    }
    assert_eq!(tools.calls().len(), 3);
}

#[tokio::test]
async fn spent_time_is_asked_about_while_a_call_runs_and_cancels_nothing() {
    let slow = FakeTools::new()
        .tool("t", "work", ToolHints::default(), |_| async {
            Ok(Value::Null)
        })
        .delay(Duration::from_millis(150));
    let (store, tools) = (MemoryStore::new(), Arc::new(slow));
    let engine = engine(&store, &tools);
    let budget = Budget::of_part(BudgetPart::Time, 20);
    let handle = engine.start(start(&chain(2), budget)).await.unwrap();
    let run = handle.run.clone();
    let mut follow = engine.subscribe(run.clone(), 0);
    let mut before_its_end = false;
    while let Some(entry) = follow.next().await.unwrap() {
        match entry.event {
            Event::Run(RunEvent::StepFinished { .. }) => break,
            Event::Run(RunEvent::Paused { .. }) => before_its_end = true,
            _ => {}
        }
    }
    assert!(before_its_end);
    let (seq, pause) = asked(handle.wait().await.unwrap());
    assert!(
        matches!(pause, Pause::Budget { what: BudgetPart::Time, used, limit: 20, .. } if used >= 20),
        "{pause:?}"
    );
    let call = &tools.calls()[0];
    assert_eq!((tools.calls().len(), call.ended), (1, Some(None)));
    let more = Budget::of_part(BudgetPart::Time, 60_000);
    let ended = extended(&engine, &run, seq, more).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    // After the last call the run needs no more budget to end.
    let handle = engine.start(start(&chain(1), budget)).await.unwrap();
    let ended = handle.wait().await.unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
}

#[tokio::test]
async fn further_attempts_and_items_are_calls_too() {
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let failing = FakeTools::new().tool("t", "look", looks, |_| async {
        Err(Failure::new(FailureKind::Unavailable, "away"))
    });
    let mut workflow = (*wide(1).workflow).clone();
    workflow.transient = Some(RetryPolicy {
        max: 3,
        wait_ms: 1,
        backoff: 1.0,
    });
    let graph = Arc::new(Graph::build(workflow).unwrap().0);
    let (store, tools) = (MemoryStore::new(), Arc::new(failing));
    let mine = engine(&store, &tools);
    let handle = mine.start(start(&graph, calls(2))).await.unwrap();
    let run = handle.run.clone();
    let (seq, _) = asked(handle.wait().await.unwrap());
    assert_eq!(tools.calls().len(), 2);
    let ended = extended(&mine, &run, seq, calls(9)).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(tools.calls().len(), 4, "three retries and no more");

    let spread = graphs(
        "
- name: s
  description: d
  inputSchema: {type: object}
  outputSchema: {type: array}
  nodes:
    - {id: entry, type: entry, next: each}
    - {id: each, type: mcp, server: t, tool: look, map: {over: [1, 2, 3, 4, 5]}, args: {task: $item}, next: exit}
    - {id: exit, type: exit}",
    );
    let tools = crate::support::tools();
    let engine = engine(&MemoryStore::new(), &tools);
    let handle = engine.start(start(&spread[0], calls(3))).await.unwrap();
    let run = handle.run.clone();
    let (seq, _) = asked(handle.wait().await.unwrap());
    assert_eq!(tools.calls().len(), 3);
    let ended = extended(&engine, &run, seq, calls(2)).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(tools.calls().len(), 5);
}

#[tokio::test]
async fn a_workflow_inside_another_gets_what_is_left() {
    let all = graphs(
        "
- name: inner
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: each}
    - {id: each, type: mcp, server: t, tool: look, map: {over: [1, 2, 3, 4]}, args: {task: $item}, next: exit}
    - {id: exit, type: exit}
- name: outer
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: inner}
    - {id: inner, type: workflow, workflow: inner, args: {}, next: exit}
    - {id: exit, type: exit}",
    );
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine_among(&store, &tools, &all);
    let handle = engine.start(start(&all[1], calls(3))).await.unwrap();
    let run = handle.run.clone();
    let (_, pause) = asked(handle.wait().await.unwrap());
    let Pause::Child { run: child, .. } = pause else {
        panic!("{pause:?}")
    };
    assert_eq!(tools.calls().len(), 2, "the workflow call counts as one");
    let stands = load(&engine, &child).await.run;
    let seq = *stands.pauses.keys().next().unwrap();
    let ended = extended(&engine, &child, seq, calls(2)).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    while load(&engine, &run).await.run.outcome.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(tools.calls().len(), 4);
}

/// Drives a run to its end, extending its budget and answering its pauses.
async fn see_through(engine: &Engine, tools: &FakeTools, run: &RunId) -> Outcome {
    loop {
        let pauses = match engine.resume(run).await {
            Ok(handle) => match handle.wait().await.unwrap() {
                DriveOutcome::Finished(outcome) => return outcome,
                DriveOutcome::Paused(pauses) => pauses,
                DriveOutcome::Stopped => unreachable!("the engine is not stopped"),
            },
            Err(Fault::Ended { .. }) => return load(engine, run).await.run.outcome.unwrap(),
            Err(fault) => panic!("{fault}"),
        };
        for (seq, pause) in pauses {
            let answer = match pause {
                Pause::Budget { .. } => Answer::Extend { budget: calls(1) },
                Pause::InDoubt { step, .. } => {
                    let key = format!("{run}/{step}");
                    match tools.calls().into_iter().find(|call| call.key == key) {
                        Some(call) => Answer::Skip {
                            output: crate::support::done(&call.arguments),
                        },
                        None => Answer::Retry,
                    }
                }
                other => panic!("{other:?}"),
            };
            say(engine, run, seq, answer).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_budget_survives_any_crash() {
    let graph = chain(4);
    for appends in 1..16 {
        let (store, tools) = (MemoryStore::new(), tools());
        store.crash_after(appends);
        let first = engine(&store, &tools);
        let handle = first.start(start(&graph, calls(2))).await.unwrap();
        let run = handle.run.clone();
        if let Ok(DriveOutcome::Paused(pauses)) = handle.wait().await {
            let more = Answer::Extend { budget: calls(1) };
            if say(&first, &run, pauses[0].0, more).await.is_ok()
                && let Ok(handle) = first.resume(&run).await
            {
                let _ = handle.wait().await;
            }
        }
        let second = engine(&store.process(), &tools);
        let outcome = see_through(&second, &tools, &run).await;
        assert!(matches!(outcome, Outcome::Completed { .. }), "{appends}");
        assert_eq!(tools.calls().len(), 4, "after {appends}");
        let loaded = load(&second, &run).await;
        let mut most = 2;
        let mut made = 0;
        for entry in &loaded.entries {
            match &entry.event {
                Event::Run(RunEvent::StepStarted { .. }) => made += 1,
                Event::Run(RunEvent::Answered {
                    answer: Answer::Extend { .. },
                    ..
                }) => most += 1,
                _ => {}
            }
            assert!(made <= most, "after {appends}");
        }
    }
}
