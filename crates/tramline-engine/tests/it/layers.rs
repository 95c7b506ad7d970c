//! Graphs of tasks: every task that can run runs once, and layers are longest paths.

use crate::support::{Tasks, ended, engine, load, name, tools};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{DriveOutcome, RunStart};
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Entry, Event, RunEvent, SchedulePolicy};

/// Random graphs of up to fourteen tasks.
pub(crate) fn any_tasks() -> impl Strategy<Value = Tasks> {
    (1usize..14).prop_flat_map(|count| {
        let before = (0..count).map(|task| prop::collection::vec(any::<bool>(), task));
        (
            before.collect::<Vec<_>>(),
            prop::collection::vec(prop::bool::weighted(0.15), count),
            prop::collection::vec(any::<bool>(), count),
        )
            .prop_map(|(before, fails, repeatable)| {
                let places = |row: Vec<bool>| {
                    row.iter()
                        .enumerate()
                        .filter(|(_, there)| **there)
                        .map(|(at, _)| at)
                        .collect()
                };
                let waits_for = before.into_iter().map(places).collect();
                Tasks {
                    waits_for,
                    fails,
                    repeatable,
                }
            })
    })
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_that_can_run_runs_once(tasks in any_tasks()) {
        block_on(async {
            let tools = tools();
            let store = MemoryStore::new();
            let engine = engine(&store, &tools);
            let handle = engine.start(RunStart::new(tasks.graph(), "in".into())).await.unwrap();
            let run = handle.run.clone();
            assert!(matches!(handle.wait().await.unwrap(), DriveOutcome::Finished(_)));
            let mut ran = ended(&load(&engine, &run).await);
            ran.sort();
            let runs = tasks.runs();
            let mut can: Vec<_> = (0..runs.len()).filter(|&task| runs[task]).map(name).collect();
            can.sort();
            assert_eq!(ran, can);
            let keys: BTreeSet<_> = tools.calls().into_iter().map(|call| call.key).collect();
            assert_eq!(keys.len(), tools.calls().len(), "a call was repeated");
        });
    }

    #[test]
    fn layers_are_longest_paths(tasks in any_tasks()) {
        block_on(async {
            let (tools, store) = (tools(), MemoryStore::new());
            let engine = engine(&store, &tools);
            let mut start = RunStart::new(tasks.graph(), "in".into());
            start.policy = SchedulePolicy::Layered;
            let mut handle = engine.start(start).await.unwrap();
            let run = handle.run.clone();
            let (mut seen, mut layers) = (0, Vec::new());
            loop {
                let how = handle.wait().await.unwrap();
                let loaded = load(&engine, &run).await;
                let steps = ended(&loaded);
                let mut layer = steps[seen..].to_vec();
                layer.sort_by_key(|id| id[1..].parse::<usize>().unwrap());
                if layer.is_empty() {
                    // Only a last layer with a failure pauses before the end.
                    let failed = |entry: &Entry| matches!(entry.event, Event::Run(RunEvent::StepFailed { .. }));
                    assert!(loaded.entries.iter().any(failed));
                } else {
                    layers.push(layer);
                }
                seen = steps.len();
                let DriveOutcome::Paused(pauses) = how else { break };
                assert_eq!(pauses.len(), 1);
                let asked = Checkpoint { run: run.clone(), seq: pauses[0].0 };
                engine.answer(&asked, Answer::Proceed, "me".into(), None).await.unwrap();
                handle = engine.resume(&run).await.unwrap();
            }
            // Skipped tasks leave no empty layers: later tasks move up to what they depend on.
            let expected: Vec<_> = tasks.layers().into_values().collect();
            assert_eq!(layers, expected);
        });
    }
}
