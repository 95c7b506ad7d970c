//! The audit: every command and decision leaves a note, whoever gives it.

use crate::support::{dag, engine, tools};
use serde_json::Value as Json;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tramline_engine::audit::AuditNote;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, Fault, ForkRequest, JournalPoint, PauseAnswer, RunStart,
};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Patch;
use tramline_workflow::journal::BreakpointSet;
use tramline_workflow::workflow::{Action, Edge, Node};

/// A program that embeds the engine uses no front end: its commands are in the audit all the same,
/// rejected ones too, and only once if a front end records them.
#[tokio::test]
async fn commands_of_a_program_are_in_the_audit() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graph =
        dag(r#"{"tasks": [{"id": "a", "tool": "t:work", "arguments": {}, "approval": true}]}"#);
    let start = RunStart::new(graph, Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let branch = ForkRequest::at(JournalPoint::Event(1));
    let forked = engine.fork(&run, branch).await.unwrap().handle;
    let fork = forked.run.clone();
    forked.wait().await.unwrap();
    let more = Action::Compute {
        expression: "1".into(),
    };
    let patch = Patch {
        nodes: vec![Node::new("more", more)],
        edges: vec![Edge::new("a", "more")],
    };
    engine
        .amend(&run, patch.clone(), "ann".into())
        .await
        .unwrap();
    engine
        .set_breakpoints(&run, BreakpointSet::default(), "ann".into())
        .await
        .unwrap();
    engine
        .abort(&run, "ann".into(), Some("enough".into()))
        .await
        .unwrap();
    engine.abort(&run, "ann".into(), None).await.unwrap_err();
    engine.amend(&run, patch, "ann".into()).await.unwrap_err();
    let note = AuditNote::new("end", "door");
    let work = engine.abort(&fork, "ann".into(), None);
    engine
        .audited_command(note, work, |_, _| ())
        .await
        .unwrap()
        .unwrap();
    let notes = engine.audit_notes(0, None).await.unwrap();
    let told: Vec<_> = notes
        .iter()
        .map(|note| {
            let text = |key: &str| note[key].as_str().unwrap_or_default().to_owned();
            (text("command"), text("result"), text("door"))
        })
        .collect();
    let program =
        |command: &str, result: &str| (command.to_owned(), result.to_owned(), "program".to_owned());
    assert_eq!(
        told,
        [
            program("fork", "done"),
            program("amend", "done"),
            program("watch", "done"),
            program("abort", "done"),
            program("abort", "refused"),
            program("amend", "refused"),
            ("end".to_owned(), String::new(), String::new()),
        ]
    );
    assert_eq!(notes[0]["arguments"]["fork"], fork.as_str());
}

/// An engine whose tool `t:slow` waits at a gate, and the permits that it waits for and gives.
fn gated(store: &MemoryStore) -> (Engine, Arc<Semaphore>, Arc<Semaphore>) {
    let (entered, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (inside, opened) = (Arc::clone(&entered), Arc::clone(&gate));
    let slow = move |given: Value| {
        let (inside, opened) = (Arc::clone(&inside), Arc::clone(&opened));
        async move {
            inside.add_permits(1);
            opened.acquire().await.unwrap().forget();
            Ok(given)
        }
    };
    let tools = FakeTools::new().tool("t", "slow", ToolHints::default(), slow);
    let options = EngineOptions::default();
    let engine = Engine::new(Arc::new(store.process()), Arc::new(tools), options);
    (engine, entered, gate)
}

fn start(document: &str) -> RunStart {
    RunStart::new(dag(document), Value::object::<Str>([]))
}

/// The notes that another process finds: what is left if this one dies now.
async fn notes_elsewhere(store: &MemoryStore) -> Vec<Json> {
    let other = engine(store, &tools());
    other.audit_notes(0, None).await.unwrap()
}

/// A command that starts a run is in the audit before the run's first call, and its note is completed at the end.
#[tokio::test]
async fn a_command_is_in_the_audit_before_its_first_call() {
    let store = MemoryStore::new();
    let (engine, entered, gate) = gated(&store);
    let work = async {
        let start = start(r#"{"tasks": [{"id": "a", "tool": "t:slow", "arguments": {}}]}"#);
        engine.start(start).await.unwrap().wait().await.unwrap()
    };
    let note = AuditNote::new("execute_dag", "agent");
    let command = engine.audited_command(note, work, |note, _| note.result = "complete".into());
    let looking = async {
        entered.acquire().await.unwrap().forget();
        let notes = notes_elsewhere(&store).await;
        gate.add_permits(1);
        notes
    };
    let (done, before) = tokio::join!(command, looking);
    assert!(matches!(done.unwrap(), DriveOutcome::Finished(_)));
    assert_eq!(before.len(), 1, "{before:?}");
    assert_eq!(before[0]["result"], "started");
    let run = before[0]["run_id"].as_str().unwrap();
    engine.load(&run.parse().unwrap()).await.unwrap();
    let after = notes_elsewhere(&store).await;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_eq!(after[0]["result"], "complete");
    assert_eq!(after[0]["run_id"], run);
}

/// A decision is in the audit before the call that it allows, on every path by which an answer comes.
#[tokio::test]
async fn a_decision_is_in_the_audit_before_the_call_that_it_allows() {
    let store = MemoryStore::new();
    let (engine, entered, gate) = gated(&store);
    for path in ["answer and resume", "answer in a command", "answer"] {
        let document = r#"{"tasks": [{"id": "a", "tool": "t:slow", "arguments": {"x": 1}, "approval": true}]}"#;
        let handle = engine.start(start(document)).await.unwrap();
        let run = handle.run.clone();
        let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
            panic!("not asked");
        };
        let seq = pauses[0].0;
        let asked = tramline_workflow::ids::Checkpoint {
            run: run.clone(),
            seq,
        };
        let known = notes_elsewhere(&store).await.len();
        let command = async {
            let note = AuditNote::new("approval_response", "agent");
            match path {
                "answer and resume" => {
                    let said = PauseAnswer {
                        pause: seq,
                        answer: tramline_workflow::journal::Answer::Proceed,
                        by: "ann".into(),
                        why: None,
                    };
                    let work = async {
                        let handle = engine.answer_and_resume(&run, vec![said]).await.unwrap();
                        handle.unwrap().wait().await.unwrap();
                    };
                    engine
                        .audited_command(note, Box::pin(work), |_, ()| ())
                        .await
                        .unwrap();
                }
                "answer in a command" => {
                    let work = async {
                        engine
                            .approve(&asked, true, "ann".into(), None)
                            .await
                            .unwrap();
                        engine.resume(&run).await.unwrap().wait().await.unwrap();
                    };
                    engine
                        .audited_command(note, Box::pin(work), |_, ()| ())
                        .await
                        .unwrap();
                }
                _ => {
                    engine
                        .approve(&asked, true, "ann".into(), None)
                        .await
                        .unwrap();
                    engine.resume(&run).await.unwrap().wait().await.unwrap();
                }
            }
        };
        let looking = async {
            entered.acquire().await.unwrap().forget();
            let notes = notes_elsewhere(&store).await;
            gate.add_permits(1);
            notes
        };
        let ((), before) = tokio::join!(command, looking);
        assert_eq!(before.len(), known + 1, "{path}: {before:?}");
        let decided = &before[known]["decisions"][0];
        assert_eq!(decided["answer"], "proceed", "{path}: {before:?}");
        assert_eq!(decided["checkpoint_id"], asked.to_string());
        assert_eq!(decided["arguments"]["x"], 1);
        let after = notes_elsewhere(&store).await;
        assert_eq!(after.len(), known + 1, "{path}: {after:?}");
        assert_eq!(after[known]["decisions"].as_array().unwrap().len(), 1);
    }
}

/// What happened is never recorded as refused, whatever the caller was told, and each command has its own note.
#[tokio::test]
async fn a_command_that_took_effect_is_not_recorded_as_refused() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let refuse = |note: &mut AuditNote, came: &Result<(), Fault>| {
        note.result = "refused".to_owned();
        note.error = came.as_ref().err().map(ToString::to_string);
    };
    for _ in 0..3 {
        let work = async {
            let start = start(r#"{"tasks": [{"id": "a", "tool": "t:work", "arguments": {}}]}"#);
            engine.start(start).await?.wait().await?;
            Err(Fault::Rejected("the caller is gone".into()))
        };
        let note = AuditNote::new("execute_dag", "agent");
        let came = engine.audited_command(note, work, refuse).await.unwrap();
        came.unwrap_err();
    }
    let notes = engine.audit_notes(0, None).await.unwrap();
    assert_eq!(notes.len(), 3, "{notes:?}");
    for note in &notes {
        assert_eq!(note["result"], "completed", "{note}");
        assert!(note["run_id"].is_string(), "{note}");
        assert_eq!(note["error"], "the caller is gone", "{note}");
    }
    // A command that changed nothing is.
    let note = AuditNote::new("execute_dag", "agent");
    let work = async { Err(Fault::Rejected("no".into())) };
    let _ = engine.audited_command(note, work, refuse).await.unwrap();
    let notes = engine.audit_notes(0, None).await.unwrap();
    assert_eq!(notes[3]["result"], "refused");
}

/// The audit shows what was decided: the output instead of a call, and the extension of a budget; of an answer that
/// came too late, what it was.
#[tokio::test]
async fn the_audit_shows_the_whole_answer() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let mut start = start(
        r#"{"tasks": [{"id": "a", "tool": "t:work", "arguments": {}},
            {"id": "b", "tool": "t:work", "arguments": {}, "depends_on": ["a"]}]}"#,
    );
    start.budget = Some(tramline_workflow::journal::Budget {
        calls: Some(1),
        ..Default::default()
    });
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("not asked");
    };
    let asked = tramline_workflow::ids::Checkpoint {
        run,
        seq: pauses[0].0,
    };
    let more = || tramline_workflow::journal::Answer::Extend {
        budget: tramline_workflow::journal::Budget {
            calls: Some(7),
            ..Default::default()
        },
    };
    engine
        .answer(&asked, more(), "ann".into(), None)
        .await
        .unwrap();
    let late = engine.answer(&asked, more(), "ann".into(), None).await;
    late.unwrap_err();
    let notes = engine.audit_notes(0, None).await.unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(notes[0]["decisions"][0]["extension"]["calls"], 7);
    assert_eq!(notes[1]["result"], "refused");
    assert_eq!(
        notes[1]["decisions"][0]["extension"]["calls"], 7,
        "{notes:?}"
    );
}

/// Only a person at a terminal lifts the rule that answers need one, and the audit tells.
#[tokio::test]
async fn the_terminal_rule_is_lifted_only_at_a_terminal() {
    let (store, tools) = (MemoryStore::new(), tools());
    let (strict, lax) = (engine(&store, &tools), engine(&store, &tools));
    strict.require_terminal().await.unwrap();
    assert!(lax.lift_terminal_rule(false).await.unwrap());
    assert!(strict.needs_terminal().await.unwrap());
    assert!(!lax.lift_terminal_rule(true).await.unwrap());
    assert!(!strict.needs_terminal().await.unwrap());
    let notes = strict.audit_notes(0, None).await.unwrap();
    let results: Vec<_> = notes.iter().map(|note| note["result"].as_str()).collect();
    assert_eq!(results, [Some("required"), Some("refused"), Some("lifted")]);
}
