//! Answering and resuming in one call: one answer counts, and a crash loses no recorded answer.

use crate::layers::{any_tasks, block_on};
use crate::support::{ended, engine, load, tools};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tramline_engine::ports::RunStatus;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, Fault, PauseAnswer, RunStart};
use tramline_expr::Str;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent, SchedulePolicy};

fn layered(graph: Arc<Graph>) -> RunStart {
    let mut start = RunStart::new(graph, "in".into());
    start.policy = SchedulePolicy::Layered;
    start
}

fn proceed(pause: Seq, by: &str) -> Vec<PauseAnswer> {
    vec![PauseAnswer {
        pause,
        answer: Answer::Proceed,
        by: by.into(),
        why: None,
    }]
}

/// Five tasks in a chain; every second one is repeatable.
fn chain() -> Arc<Graph> {
    crate::support::Tasks {
        waits_for: (0..5usize)
            .map(|task| task.checked_sub(1).into_iter().collect())
            .collect(),
        fails: vec![false; 5],
        repeatable: (0..5).map(|task| task % 2 == 0).collect(),
    }
    .graph()
}

async fn paused(engine: &Engine) -> (RunId, Seq) {
    let handle = engine.start(layered(chain())).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    (run, pauses[0].0)
}

/// Resumes a run until it ends, answering truthfully about calls in doubt.
async fn finish(engine: &Engine, tools: &FakeTools, run: &RunId) -> Outcome {
    loop {
        let loaded = load(engine, run).await;
        if let Some(outcome) = loaded.run.outcome {
            return outcome;
        }
        let said = loaded.run.pauses.iter().map(|(pause, why)| PauseAnswer {
            pause: *pause,
            answer: match why {
                Pause::InDoubt { step, .. } => {
                    let key = Str::from(format!("{run}/{step}"));
                    // A failed call may be retried: it did nothing.
                    let mut calls = tools.calls().into_iter();
                    let call = calls.find(|call| call.key == key && call.tool.tool == "work");
                    let output = call.map(|call| crate::support::done(&call.arguments));
                    output.map_or(Answer::Retry, |output| Answer::Skip { output })
                }
                _ => Answer::Proceed,
            },
            by: "me".into(),
            why: None,
        });
        let said: Vec<_> = said.collect();
        let handle = match said.is_empty() {
            true => engine.resume(run).await.unwrap(),
            false => engine.answer_and_resume(run, said).await.unwrap().unwrap(),
        };
        handle.wait().await.unwrap();
    }
}

#[tokio::test]
async fn a_layer_of_calls_that_only_look_is_one_append() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    // The next task is not repeatable: its start is a separate append.
    let (run, asked) = paused(&engine).await;
    assert_eq!(store.appends(), 1);
    let handle = engine
        .answer_and_resume(&run, proceed(asked, "me"))
        .await
        .unwrap();
    let DriveOutcome::Paused(pauses) = handle.unwrap().wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    assert_eq!(store.appends(), 3);
    let handle = engine
        .answer_and_resume(&run, proceed(pauses[0].0, "me"))
        .await;
    handle.unwrap().unwrap().wait().await.unwrap();
    assert_eq!(store.appends(), 4);
    let row = engine.store().row(&run).await.unwrap().unwrap();
    assert_eq!(
        (row.index_row.status, row.driven),
        (RunStatus::Paused, false)
    );
}

#[tokio::test]
async fn of_two_answers_at_once_one_counts() {
    for processes in [1, 2] {
        let (store, tools) = (MemoryStore::new(), tools());
        let mine = engine(&store, &tools);
        let (run, asked) = paused(&mine).await;
        let yours = match processes {
            1 => mine.clone(),
            _ => engine(&store.process(), &tools),
        };
        let go_on = async |engine: &Engine, by: &str| {
            let handle = engine.answer_and_resume(&run, proceed(asked, by)).await?;
            match handle {
                Some(handle) => handle.wait().await.map(drop),
                None => Ok(()),
            }
        };
        let (one, two) = tokio::join!(go_on(&mine, "ann"), go_on(&yours, "bob"));
        let lost = match (one, two) {
            (Ok(()), Err(lost)) | (Err(lost), Ok(())) => lost,
            other => panic!("{processes}: {other:?}"),
        };
        assert!(matches!(lost, Fault::Stale { .. }), "{processes}: {lost}");
        let entries = load(&mine, &run).await.entries;
        let answers = entries.iter().filter(|entry| {
            matches!(&entry.event,
            Event::Run(RunEvent::Answered { pause, .. }) if *pause == asked)
        });
        assert_eq!(answers.count(), 1);
    }
}

#[tokio::test]
async fn who_asks_hears_whether_the_answer_counted() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (mine, yours) = (engine(&store, &tools), engine(&store.process(), &tools));
    let (run, asked) = paused(&mine).await;
    let yes = |by: &str| proceed(asked, by);
    let handle = yours
        .answer_and_resume(&run, yes("you"))
        .await
        .unwrap()
        .unwrap();
    let handle = handle.answers_recorded().await.unwrap();
    // The cached run is stale, and only the append shows it.
    let late = mine
        .answer_and_resume(&run, yes("me"))
        .await
        .unwrap()
        .unwrap();
    let late = late.answers_recorded().await.err().unwrap();
    assert!(matches!(late, Fault::Stale { .. }), "{late}");
    assert!(handle.wait().await.is_ok());
    // Also if nothing follows it.
    for _ in 0..3 {
        let (&asked, _) = load(&mine, &run)
            .await
            .run
            .pauses
            .first_key_value()
            .unwrap();
        let handle = mine
            .answer_and_resume(&run, proceed(asked, "me"))
            .await
            .unwrap();
        handle
            .unwrap()
            .answers_recorded()
            .await
            .unwrap()
            .wait()
            .await
            .unwrap();
    }
    assert!(load(&mine, &run).await.run.outcome.is_some());
}

#[tokio::test]
async fn a_copy_that_is_behind_is_not_believed() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (mine, yours) = (engine(&store, &tools), engine(&store.process(), &tools));
    let (run, asked) = paused(&mine).await;
    let handle = yours
        .answer_and_resume(&run, proceed(asked, "you"))
        .await
        .unwrap();
    let DriveOutcome::Paused(pauses) = handle.unwrap().wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let late = mine.answer_and_resume(&run, proceed(asked, "me")).await;
    let late = match late {
        Ok(handle) => handle.unwrap().wait().await.err().unwrap(),
        Err(fault) => fault,
    };
    assert!(
        matches!(&late, Fault::Stale { current, .. } if current.len() == 1),
        "{late}"
    );
    let handle = mine
        .answer_and_resume(&run, proceed(pauses[0].0, "me"))
        .await
        .unwrap();
    let next = handle.unwrap().wait().await.unwrap();
    assert!(matches!(next, DriveOutcome::Paused(_)), "{next:?}");
    // A pause that it has not seen yet is loaded.
    let DriveOutcome::Paused(pauses) = next else {
        return;
    };
    let handle = yours
        .answer_and_resume(&run, proceed(pauses[0].0, "you"))
        .await;
    assert!(handle.unwrap().unwrap().wait().await.is_ok());
}

#[tokio::test]
async fn what_comes_in_between_without_answering_loses_nothing() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (mine, yours) = (engine(&store, &tools), engine(&store.process(), &tools));
    let (run, asked) = paused(&mine).await;
    let watch = tramline_workflow::journal::BreakpointSet::default();
    yours
        .set_breakpoints(&run, watch, "you".into())
        .await
        .unwrap();
    let handle = mine
        .answer_and_resume(&run, proceed(asked, "me"))
        .await
        .unwrap();
    let next = handle.unwrap().wait().await.unwrap();
    assert!(matches!(next, DriveOutcome::Paused(_)), "{next:?}");
    assert_eq!(ended(&load(&mine, &run).await).len(), 2);
}

#[tokio::test]
async fn an_answer_that_fits_no_question_changes_nothing() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (run, asked) = paused(&engine).await;
    let mut said = proceed(asked, "me");
    said[0].answer = Answer::Retry;
    let wrong = engine.answer_and_resume(&run, said).await.err().unwrap();
    assert!(matches!(wrong, Fault::Rejected(_)), "{wrong}");
    assert_eq!(store.appends(), 1);
    let handle = engine
        .answer_and_resume(&run, proceed(asked, "me"))
        .await
        .unwrap();
    assert!(handle.unwrap().wait().await.is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_death_after_any_append_loses_and_repeats_nothing(tasks in any_tasks()) {
        block_on(async {
            let (whole, calm) = (MemoryStore::new(), tools());
            let quiet = engine(&whole, &calm);
            let handle = quiet.start(layered(tasks.graph())).await.unwrap();
            let run = handle.run.clone();
            handle.wait().await.unwrap();
            let reference = finish(&quiet, &calm, &run).await;
            for appends in 1..=whole.appends() {
                for answered in [true, false] {
                    let (store, tools) = (MemoryStore::new(), tools());
                    let first = engine(&store, &tools);
                    match answered {
                        true => store.crash_after(appends),
                        false => store.crash_unanswered(appends),
                    }
                    let handle = first.start(layered(tasks.graph())).await.unwrap();
                    let run = handle.run.clone();
                    let mut how = handle.wait().await;
                    while let Ok(DriveOutcome::Paused(pauses)) = how {
                        how = match first.answer_and_resume(&run, proceed(pauses[0].0, "me")).await {
                            Ok(Some(handle)) => handle.wait().await,
                            _ => break,
                        };
                    }
                    let second = engine(&store.process(), &tools);
                    let outcome = finish(&second, &tools, &run).await;
                    assert_eq!(outcome, reference, "after {appends} ({answered})");
                    let mut counted: BTreeMap<Str, usize> = BTreeMap::new();
                    for call in tools.calls().iter().filter(|call| call.tool.tool == "work") {
                        *counted.entry(call.key.clone()).or_default() += 1;
                    }
                    assert!(counted.values().all(|&times| times == 1), "{counted:?}");
                }
            }
        });
    }
}
