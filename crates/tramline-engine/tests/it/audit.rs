//! The audit: what is commanded and decided leaves a line, whoever commands it.

use crate::support::{dag, engine, tools};
use tramline_core::graph::Patch;
use tramline_core::journal::Watch;
use tramline_core::workflow::{Action, Edge, Node};
use tramline_core::{Str, Value};
use tramline_engine::audit::Note;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{At, Branch, Start};

/// A program that embeds the engine commands by no front end: its commands are in the audit all the same,
/// refused ones too, and once where a front end notes them.
#[tokio::test]
async fn commands_of_a_program_are_in_the_audit() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graph =
        dag(r#"{"tasks": [{"id": "a", "tool": "t:work", "arguments": {}, "approval": true}]}"#);
    let start = Start::new(graph, Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    handle.ended().await.unwrap();
    let branch = Branch::at(At::Event(1));
    let forked = engine.fork(&run, branch).await.unwrap().handle;
    let fork = forked.run.clone();
    forked.ended().await.unwrap();
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
        .watch(&run, Watch::default(), "ann".into())
        .await
        .unwrap();
    engine
        .abort(&run, "ann".into(), Some("enough".into()))
        .await
        .unwrap();
    engine.abort(&run, "ann".into(), None).await.unwrap_err();
    engine.amend(&run, patch, "ann".into()).await.unwrap_err();
    let note = Note::new("end", "door");
    let work = engine.abort(&fork, "ann".into(), None);
    engine.noting(note, work, |_, _| ()).await.unwrap().unwrap();
    let notes = engine.notes(0, None).await.unwrap();
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
