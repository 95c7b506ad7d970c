//! A journal with an unreadable event: it is rejected with the next step, and its readable part can
//! be exported.

use crate::support::{engine, tools};
use std::sync::Arc;
use tramline_engine::ports::{Append, ClaimChange, JournalStore};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{Fault, RunStart};
use tramline_expr::Value;
use tramline_workflow::graph::Graph;
use tramline_workflow::workflow::{Action, Edge, Node, Workflow};

fn waits() -> Arc<Graph> {
    let mut asked = Node::new(
        "asked",
        Action::Compute {
            expression: "1".into(),
        },
    );
    asked.approval = Some("may it?".into());
    let workflow = Workflow {
        name: "waits".into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            asked,
            Node::new("exit", Action::Exit),
        ],
        edges: vec![Edge::new("entry", "asked"), Edge::new("asked", "exit")],
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

#[tokio::test]
async fn what_can_be_read_of_a_damaged_journal_can_be_written_down() {
    let (store, tools) = (MemoryStore::new(), tools());
    let mine = engine(&store, &tools);
    let handle = mine
        .start(RunStart::new(waits(), Value::Null))
        .await
        .unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let row = store.row(&run).await.unwrap().unwrap();
    let append = Append {
        run: run.clone(),
        seen: row.last,
        last: row.last + 1,
        body: b"[1, {\"Answ\n".to_vec(),
        index_row: row.index_row,
        claim: ClaimChange::Keep,
        documents: Vec::new(),
    };
    store.append(append).await.unwrap();

    let other = engine(&store.process(), &tools);
    let Err(refused) = other.resume(&run).await else {
        panic!("a damaged run was resumed");
    };
    assert!(matches!(refused, Fault::Damaged { .. }), "{refused}");
    let says = refused.to_string();
    assert!(
        says.contains("tramline runs export") && !says.contains("remove"),
        "{says}"
    );

    let (file, unreadable) = other.export_readable(&run).await.unwrap();
    let places: Vec<_> = unreadable.iter().map(|event| event.seq).collect();
    assert_eq!(places, [row.last + 1]);
    let file = Value::from_json(std::str::from_utf8(&file).unwrap()).unwrap();
    let journal = file.get("journal").and_then(Value::as_array).unwrap();
    assert_eq!(journal.len() as u64, row.last);
    // An undamaged journal has no unreadable events.
    let handle = other
        .start(RunStart::new(waits(), Value::Null))
        .await
        .unwrap();
    let whole = handle.run.clone();
    handle.wait().await.unwrap();
    assert_eq!(other.export_readable(&whole).await.unwrap().1, []);
}
