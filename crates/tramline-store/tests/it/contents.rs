//! Documents that journals refer to, in a database that several processes use and that may be
//! damaged.

use crate::{chunk, database, head, run};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use tempfile::tempdir;
use tramline_engine::ports::{Append, JournalStore, RunStatus};
use tramline_engine::testing::FakeTools;
use tramline_engine::{Engine, EngineOptions, RunStart};
use tramline_expr::Value;
use tramline_store::Sqlite;
use tramline_workflow::graph::Graph;
use tramline_workflow::journal::StoredDocument;
use tramline_workflow::workflow::{Action, Edge, Node, Workflow};

/// Runs that each of two processes starts and removes.
const ROUNDS: u64 = 60;

fn begins(n: u64, document: &Arc<StoredDocument>) -> Append {
    Append {
        index_row: head(RunStatus::Completed),
        documents: vec![Arc::clone(document)],
        ..chunk(&run(n), 0, vec![1])
    }
}

fn count(dir: &Path, table: &str) -> i64 {
    let conn = Connection::open(database(dir)).unwrap();
    let sql = format!("SELECT count(*) FROM {table}");
    conn.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_begin_and_remove_runs_of_one_document() {
    let dir = tempdir().unwrap();
    let shared = Arc::new(StoredDocument::of(&"shared".repeat(1_000)).unwrap());
    let processes: Vec<_> = (0..2)
        .map(|process| {
            let (dir, shared) = (dir.path().to_owned(), Arc::clone(&shared));
            tokio::spawn(async move {
                let store = Sqlite::open(&dir).unwrap();
                for round in 0..ROUNDS {
                    let n = 2 * round + process;
                    store.append(begins(n, &shared)).await.unwrap();
                    // While the run exists, so do the documents it refers to.
                    let found = store.document(&shared.digest).await.unwrap();
                    assert_eq!(found.as_ref(), Some(&shared.body), "round {round}");
                    assert_eq!(store.remove(&[run(n)]).await.unwrap(), 1);
                }
            })
        })
        .collect();
    for process in processes {
        process.await.unwrap();
    }
    for table in ["runs", "chunks", "contents", "refers"] {
        assert_eq!(count(dir.path(), table), 0, "{table}");
    }
}

#[tokio::test]
async fn what_refers_to_what_is_found_anew() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let shared = Arc::new(StoredDocument::of(&"shared").unwrap());
    for n in 0..3 {
        store.append(begins(n, &shared)).await.unwrap();
    }
    let conn = Connection::open(database(dir.path())).unwrap();
    conn.execute("DELETE FROM refers", []).unwrap();
    drop(conn);
    assert_eq!(store.rebuild().await.unwrap(), 3);
    store.remove(&[run(0), run(1)]).await.unwrap();
    assert!(store.document(&shared.digest).await.unwrap().is_some());
    store.remove(&[run(2)]).await.unwrap();
    assert!(store.document(&shared.digest).await.unwrap().is_none());
}

fn engine(dir: &Path) -> Engine {
    let store = Arc::new(Sqlite::open(dir).unwrap());
    Engine::new(store, Arc::new(FakeTools::new()), EngineOptions::default())
}

/// A workflow that does nothing.
fn graph() -> Arc<Graph> {
    let workflow = Workflow {
        name: "nothing".into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            Node::new("exit", Action::Exit),
        ],
        edges: vec![Edge::new("entry", "exit")],
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

#[tokio::test]
async fn a_document_that_is_missing_or_changed_is_damage() {
    for (damage, says) in [
        ("DELETE FROM contents", "is missing"),
        (
            "UPDATE contents SET body = CAST(replace(CAST(body AS TEXT), 'nothing', 'something') AS BLOB)",
            "does not match its digest",
        ),
    ] {
        let dir = tempdir().unwrap();
        let here = engine(dir.path());
        let handle = here
            .start(RunStart::new(graph(), Value::Null))
            .await
            .unwrap();
        let run = handle.run.clone();
        handle.wait().await.unwrap();
        drop(here);
        let conn = Connection::open(database(dir.path())).unwrap();
        assert_eq!(conn.execute(damage, []).unwrap(), 1);
        drop(conn);
        let there = engine(dir.path());
        let fault = there.load(&run).await.err().unwrap().to_string();
        assert!(
            fault.contains("is damaged: its document sha256:"),
            "{fault}"
        );
        assert!(fault.contains(says), "{fault}");
        // Its owner can be read, and it can be removed.
        there.run_header(&run).await.unwrap();
        assert_eq!(there.store().remove(&[run]).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn a_verification_names_the_runs_of_a_document_that_is_not_whole() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    for n in 0..4 {
        let document = Arc::new(StoredDocument::of(&format!("document {}", n / 2)).unwrap());
        store.append(begins(n, &document)).await.unwrap();
    }
    let found = store.verify().await.unwrap();
    assert_eq!(
        (found.runs, found.documents, found.problems.len()),
        (4, 2, 0)
    );
    let conn = Connection::open(database(dir.path())).unwrap();
    conn.execute_batch("UPDATE contents SET body = zeroblob(bytes) WHERE key = 1; DELETE FROM contents WHERE key = 2")
        .unwrap();
    let found = store.verify().await.unwrap();
    let mut about: Vec<_> = found
        .problems
        .iter()
        .map(|problem| problem.run.clone())
        .collect();
    about.sort();
    let all: Vec<_> = (0..4).map(|n| Some(run(n).to_string())).collect();
    assert_eq!(about, all, "{found:?}");
}
