//! Forks: from a step, from the beginning with another input, and the confirmation before an effect
//! is repeated.

use super::{json, resume, start};
use crate::support::{engine, graphs, load, result, tools};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{DriveOutcome, EffectPolicy, ForkRequest, JournalPoint, RunStart};
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Outcome, Pause};

fn branch(at: JournalPoint, output: Option<&str>, effects: EffectPolicy) -> ForkRequest {
    ForkRequest {
        output: output.map(json),
        effects,
        ..ForkRequest::at(at)
    }
}

#[tokio::test]
async fn a_fork_goes_its_own_way_and_asks_before_it_repeats_an_effect() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (run, _) = start(&engine, None).await;
    let made = engine
        .fork(
            &run,
            branch(
                JournalPoint::Step(2),
                Some(r#"{"did":"b"}"#),
                EffectPolicy::Ask,
            ),
        )
        .await
        .unwrap();
    assert_eq!(made.effects.len(), 1);
    assert_eq!(made.effects[0].0, "work");
    let fork = made.handle.run.clone();
    let DriveOutcome::Paused(pauses) = made.handle.wait().await.unwrap() else {
        panic!("the fork did not ask")
    };
    assert!(matches!(pauses[0].1, Pause::Effect { .. }));
    let calls = tools.calls().len();
    let asked = Checkpoint {
        run: fork.clone(),
        seq: pauses[0].0,
    };
    engine
        .answer(&asked, Answer::Proceed, "me".into(), None)
        .await
        .unwrap();
    let DriveOutcome::Finished(outcome) = resume(&engine, &fork).await else {
        panic!("the run did not end")
    };
    assert_eq!(*result(&outcome), json(r#"{"did":"b"}"#));
    assert_eq!(tools.calls().len(), calls + 1);
    // The original run is unchanged.
    assert!(matches!(
        load(&engine, &run).await.run.outcome,
        Some(Outcome::Completed { .. })
    ));
}

#[tokio::test]
async fn a_fork_repeats_when_told_to_and_takes_another_way() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (run, _) = start(&engine, None).await;
    let made = engine
        .fork(
            &run,
            branch(JournalPoint::Event(1), None, EffectPolicy::Repeat),
        )
        .await
        .unwrap();
    assert!(matches!(
        made.handle.wait().await.unwrap(),
        DriveOutcome::Finished(_)
    ));
    assert_eq!(tools.calls().len(), 4);
    let made = engine
        .fork(
            &run,
            branch(JournalPoint::Step(3), Some(r#""exit""#), EffectPolicy::Ask),
        )
        .await
        .unwrap();
    let DriveOutcome::Finished(outcome) = made.handle.wait().await.unwrap() else {
        panic!("the run did not end")
    };
    assert_eq!(*result(&outcome), "exit".into());
    for bad in [r#""nowhere""#, "1"] {
        assert!(
            engine
                .fork(
                    &run,
                    branch(JournalPoint::Step(3), Some(bad), EffectPolicy::Ask)
                )
                .await
                .is_err()
        );
    }
    assert!(
        engine
            .fork(
                &run,
                branch(JournalPoint::Event(1), Some("1"), EffectPolicy::Ask)
            )
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_fork_with_another_input_begins_anew_and_says_whose_it_is() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (run, _) = start(&engine, None).await;
    let calls = tools.calls().len();
    let anew = |at: JournalPoint, input: &str| ForkRequest {
        input: Some(json(input)),
        ..ForkRequest::at(at)
    };
    let made = engine
        .fork(&run, anew(JournalPoint::Event(1), r#"{"task":"c"}"#))
        .await
        .unwrap();
    // Another input makes other calls: none is a repetition.
    assert!(made.effects.is_empty());
    let fork = made.handle.run.clone();
    let DriveOutcome::Finished(outcome) = made.handle.wait().await.unwrap() else {
        panic!("the fork asked")
    };
    assert_eq!(*result(&outcome), json(r#"{"did":"c"}"#));
    assert_eq!(tools.calls().len(), calls + 2);
    let (old, new) = (load(&engine, &run).await, load(&engine, &fork).await);
    let of = new.run.started.fork.as_ref().unwrap();
    assert_eq!((&of.run, of.seq), (&run, 1));
    assert_eq!(new.run.started.budget, old.run.started.budget);
    assert_eq!(old.run.started.input, json(r#"{"task":"a"}"#));
    for (at, input) in [
        (JournalPoint::Step(2), r#"{"task":"c"}"#),
        (JournalPoint::Event(1), "7"),
    ] {
        assert!(engine.fork(&run, anew(at, input)).await.is_err());
    }
    let both = ForkRequest {
        output: Some(json("1")),
        ..anew(JournalPoint::Event(1), "{}")
    };
    assert!(engine.fork(&run, both).await.is_err());
}

#[tokio::test]
async fn what_was_under_way_at_a_fork_is_a_fact() {
    const BOTH: &str = "
  - name: both
    description: Works twice at once.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: [a, b]}
      - {id: a, type: mcp, server: t, tool: work, args: {task: a}, next: sum}
      - {id: b, type: mcp, server: t, tool: work, args: {task: b}, next: sum}
      - {id: sum, type: transform, join: all, transform: {expr: 'a.did & b.did'}, next: exit}
      - {id: exit, type: exit}
";
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let start = RunStart::new(graphs(BOTH).remove(0), json("{}"));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let first = branch(
        JournalPoint::Step(2),
        Some(r#"{"did":"x"}"#),
        EffectPolicy::Ask,
    );
    let made = engine.fork(&run, first).await.unwrap();
    let DriveOutcome::Finished(outcome) = made.handle.wait().await.unwrap() else {
        panic!("the fork asked")
    };
    assert_eq!(*result(&outcome), "xb".into());
    assert_eq!(tools.calls().len(), 2);
}
