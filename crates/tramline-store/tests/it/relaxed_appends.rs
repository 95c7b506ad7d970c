//! Relaxed appends do not wait for the disk: in order, visible at once, and synced soon after.

use crate::{chunk, run};
use std::time::Duration;
use tempfile::tempdir;
use tramline_engine::ports::{AppendError, DocumentStore, JournalStore};
use tramline_store::Sqlite;

#[tokio::test]
async fn a_jot_is_seen_by_others_at_once_and_synced_soon() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let other = Sqlite::open(dir.path()).unwrap();
    store.append(chunk(&run(1), 0, vec![1])).await.unwrap();
    let mut changes = store.changes();
    changes.mark_unchanged();
    store
        .append_relaxed(chunk(&run(1), 1, vec![2]))
        .await
        .unwrap();
    assert!(changes.has_changed().unwrap());
    let seen = other.read(&run(1), 0).await.unwrap();
    assert_eq!(seen.last().unwrap().last, 2);
    let late = store.append_relaxed(chunk(&run(1), 1, vec![3])).await;
    assert!(matches!(late, Err(AppendError::Conflict { last: 2 })));
    let synced = async {
        while other.get("writer", "synced").await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    let soon = tokio::time::timeout(Duration::from_secs(20), synced).await;
    assert!(soon.is_ok(), "it was never synced");
}

#[tokio::test]
async fn what_was_jotted_is_there_after_closing() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    store.append(chunk(&run(1), 0, vec![1])).await.unwrap();
    for seen in 1..50 {
        store
            .append_relaxed(chunk(&run(1), seen, vec![2]))
            .await
            .unwrap();
    }
    drop(store);
    let again = Sqlite::open(dir.path()).unwrap();
    let chunks = again.read(&run(1), 0).await.unwrap();
    assert_eq!(chunks.last().unwrap().last, 50);
}
