//! Closing: queued work is done, nothing is left behind.

use crate::{chunk, database, run};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;
use tempfile::tempdir;
use tokio::time::timeout;
use tramline_engine::ports::JournalStore;
use tramline_store::Sqlite;

#[tokio::test]
async fn queued_appends_are_finished() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let mut answered = 0;
    for n in 0..300 {
        // Too large to be written on the caller's thread.
        let append = store.append(chunk(&run(n), 0, vec![0; 70_000]));
        // Polls once, so that it is queued, and stops waiting.
        answered += usize::from(timeout(Duration::ZERO, append).await.is_ok());
    }
    assert!(answered < 300, "all were answered");
    drop(store);
    let store = Sqlite::open(dir.path()).unwrap();
    for n in 0..300 {
        assert!(store.row(&run(n)).await.unwrap().is_some(), "{n}");
    }
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    store
        .append(chunk(&run(1), 0, vec![0; 1_000]))
        .await
        .unwrap();
    store.claim(&run(1)).await.unwrap();
    let _listener = store.changes();
    drop(store);
    assert_eq!(fs::read_dir(dir.path().join("owners")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_small_log_stays_and_a_large_one_is_moved() {
    let dir = tempdir().unwrap();
    let log = database(dir.path()).with_extension("db-wal");
    let size = || fs::metadata(&log).map_or(0, |about| about.len());
    for (bytes, moved) in [(1_000, false), (900_000, true)] {
        let store = Sqlite::open(dir.path()).unwrap();
        store
            .append(chunk(&run(bytes), 0, vec![0; bytes as usize]))
            .await
            .unwrap();
        assert!(size() > 0);
        drop(store);
        assert_eq!(size() == 0, moved, "{bytes}");
        let store = Sqlite::open(dir.path()).unwrap();
        assert!(store.row(&run(bytes)).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_log_grows_for_many_commits_at_once_and_is_read_up_to_its_end() {
    let dir = tempdir().unwrap();
    let log = database(dir.path()).with_extension("db-wal");
    let size = || fs::metadata(&log).map_or(0, |about| about.len());
    let store = Sqlite::open(dir.path()).unwrap();
    let mut sizes = BTreeSet::new();
    for n in 0..15 {
        store
            .append(chunk(&run(1), n, vec![1; 1_000]))
            .await
            .unwrap();
        sizes.insert(size());
    }
    assert!((2..=4).contains(&sizes.len()), "{sizes:?}");
    drop(store);
    assert!(size() > 0, "it was checkpointed");
    let store = Sqlite::open(dir.path()).unwrap();
    assert_eq!(store.read(&run(1), 0).await.unwrap().len(), 15);
}
