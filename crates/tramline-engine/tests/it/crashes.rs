//! A crash after every single append leads to the same result, and no call is repeated without
//! confirmation.

use crate::layers::{any_tasks, block_on};
use crate::support::{done, engine, engine_among, load, result, tools};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tramline_engine::testing::{FakeCall, FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, Outcome, Pause};
use tramline_workflow::workflow::{Action, Edge, Node, SwitchRule, Workflow, WorkflowLimits};

/// Resumes a run until it ends, answering truthfully whether a call in doubt happened.
async fn finish(engine: &Engine, tools: &FakeTools, run: &RunId) -> Option<Outcome> {
    loop {
        let handle = match engine.resume(run).await {
            Ok(handle) => handle,
            Err(Fault::NotFound(_)) => return None,
            Err(Fault::Ended { .. }) => return load(engine, run).await.run.outcome,
            // A child that ended has resumed it.
            Err(Fault::Elsewhere { .. }) => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(fault) => panic!("{fault}"),
        };
        let pauses = match handle.wait().await.unwrap() {
            DriveOutcome::Finished(outcome) => return Some(outcome),
            DriveOutcome::Paused(pauses) => pauses,
            DriveOutcome::Stopped => unreachable!("the engine is not stopped"),
        };
        for (seq, pause) in pauses {
            let step = match pause {
                Pause::InDoubt { step, .. } => step,
                Pause::Child { run, .. } => {
                    Box::pin(finish(engine, tools, &run))
                        .await
                        .expect("the run is durable");
                    continue;
                }
                other => panic!("{other:?}"),
            };
            let key = Str::from(format!("{run}/{step}"));
            // A failed call may be retried: it did nothing.
            let worked = |call: &FakeCall| call.key == key && call.tool.tool == "work";
            let happened = tools.calls().into_iter().find(worked);
            let answer = match happened {
                Some(call) => Answer::Skip {
                    output: done(&call.arguments),
                },
                None => Answer::Retry,
            };
            let asked = Checkpoint {
                run: run.clone(),
                seq,
            };
            engine
                .answer(&asked, answer, "me".into(), None)
                .await
                .unwrap();
        }
    }
}

/// Runs a graph with a crash at every append, and compares.
async fn try_every_crash(graph: Arc<Graph>, input: Value) {
    try_every_crash_among(graph, input, &[]).await;
}

/// The same with workflows that can be called.
pub(crate) async fn try_every_crash_among(graph: Arc<Graph>, input: Value, others: &[Arc<Graph>]) {
    let engine = |store: &MemoryStore, tools: &Arc<FakeTools>| engine_among(store, tools, others);
    let (whole, calm) = (MemoryStore::new(), tools());
    let quiet = engine(&whole, &calm);
    let handle = quiet
        .start(RunStart::new(Arc::clone(&graph), input.clone()))
        .await
        .unwrap();
    let DriveOutcome::Finished(reference) = handle.wait().await.unwrap() else {
        panic!("the run paused")
    };
    for appends in 1..=whole.appends() {
        for answered in [true, false] {
            let (store, tools) = (MemoryStore::new(), tools());
            if answered {
                store.crash_after(appends);
            } else {
                store.crash_unanswered(appends);
            }
            let first = engine(&store, &tools);
            let handle = first
                .start(RunStart::new(Arc::clone(&graph), input.clone()))
                .await
                .unwrap();
            let run = handle.run.clone();
            let _ = handle.wait().await;
            let second = engine(&store.process(), &tools);
            let outcome = finish(&second, &tools, &run)
                .await
                .expect("the run is durable");
            assert_eq!(outcome, reference, "after {appends} ({answered})");
            let loaded = load(&second, &run).await;
            let mut counted: BTreeMap<Str, usize> = BTreeMap::new();
            for call in tools.calls().iter().filter(|call| call.tool.tool == "work") {
                *counted.entry(call.key.clone()).or_default() += 1;
            }
            assert!(counted.values().all(|&times| times == 1), "{counted:?}");
            assert!(loaded.run.open_steps.is_empty());
        }
    }
}

/// A chain of computations with back edges, each taken a bounded number of times.
fn cyclic(backs: &[(usize, u32)]) -> Arc<Graph> {
    let mut nodes = vec![Node::new("entry", Action::Entry)];
    let mut edges = vec![Edge::new("entry", "c0")];
    for (at, &(back, times)) in backs.iter().enumerate() {
        let (own, turn) = (format!("c{at}"), format!("s{at}"));
        let expression = format!(
            "{{\"n\": $executionCount('{own}') + 1, \"before\": $type($previousNode()), \
              \"last\": $nodeExecution('{own}', -1).n, \"x\": entry.x}}"
        );
        nodes.push(Node::new(
            own.as_str(),
            Action::Compute {
                expression: expression.into(),
            },
        ));
        let target = Str::from(format!("c{}", back.min(at)));
        let onward = Str::from(if at + 1 == backs.len() {
            "exit".to_owned()
        } else {
            format!("c{}", at + 1)
        });
        let rule = format!(r#"{{"<": [{{"var": "{own}.n"}}, {times}]}}"#);
        let rules = vec![SwitchRule {
            rule: Value::from_json(&rule).unwrap(),
            label: target.clone(),
        }];
        nodes.push(Node::new(
            turn.as_str(),
            Action::Choose {
                rules,
                otherwise: Some(onward.clone()),
            },
        ));
        edges.push(Edge::new(own.as_str(), turn.as_str()));
        edges.push(Edge::labelled(
            turn.as_str(),
            target.clone(),
            target.clone(),
        ));
        edges.push(Edge::labelled(turn.as_str(), onward.clone(), onward));
    }
    nodes.push(Node::new("exit", Action::Exit));
    let limits = WorkflowLimits {
        steps_max: 3_000,
        ..WorkflowLimits::default()
    };
    let workflow = Workflow {
        name: "turns".into(),
        nodes,
        edges,
        limits,
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tasks_survive_any_crash(tasks in any_tasks()) {
        block_on(try_every_crash(tasks.graph(), "in".into()));
    }

    #[test]
    fn cycles_survive_any_crash(backs in prop::collection::vec((0usize..5, 1u32..5), 1..5)) {
        block_on(try_every_crash(cyclic(&backs), Value::object([("x", 7.into())])));
    }
}

#[test]
fn a_cycle_without_end_meets_its_limit() {
    block_on(async {
        let (store, tools) = (MemoryStore::new(), tools());
        let engine = engine(&store, &tools);
        let handle = engine
            .start(RunStart::new(cyclic(&[(0, u32::MAX)]), "in".into()))
            .await
            .unwrap();
        let DriveOutcome::Finished(Outcome::Failed { failure, .. }) = handle.wait().await.unwrap()
        else {
            panic!("the run did not fail");
        };
        assert!(
            failure.message.contains("3000 steps") && failure.message.contains("maxNodeExecutions"),
            "{failure}"
        );
    });
}

#[test]
fn a_long_loop_gives_its_count() {
    block_on(async {
        let (store, tools) = (MemoryStore::new(), tools());
        let engine = engine(&store, &tools);
        let handle = engine
            .start(RunStart::new(cyclic(&[(0, 900)]), "in".into()))
            .await
            .unwrap();
        let DriveOutcome::Finished(outcome) = handle.wait().await.unwrap() else {
            panic!("the run paused")
        };
        // The exit sees what came before it: the switch and the edge it picked.
        assert_eq!(result(&outcome), &Value::from("exit"));
    });
}

#[test]
fn what_has_no_end_on_disk_fails_its_step() {
    block_on(async {
        let (store, tools) = (MemoryStore::new(), tools());
        let engine = engine(&store, &tools);
        let expression = "$reduce([1..60], function($a, $i) { [[$a], [$a]] }, 1)".into();
        let workflow = Workflow {
            name: "shared".into(),
            nodes: vec![
                Node::new("entry", Action::Entry),
                Node::new("doubles", Action::Compute { expression }),
                Node::new("exit", Action::Exit),
            ],
            edges: vec![Edge::new("entry", "doubles"), Edge::new("doubles", "exit")],
            ..Workflow::default()
        };
        let graph = Arc::new(Graph::build(workflow).unwrap().0);
        let handle = engine
            .start(RunStart::new(graph, "in".into()))
            .await
            .unwrap();
        let ended = handle.wait().await.unwrap();
        let DriveOutcome::Finished(Outcome::Failed { failure, node }) = ended else {
            panic!("{ended:?}");
        };
        assert!(
            node.is_some() && failure.message.contains("too large"),
            "{failure}"
        );
    });
}
