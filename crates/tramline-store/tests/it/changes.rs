//! Notifications about writes of other processes.

use crate::{chunk, run};
use std::time::{Duration, Instant};
use tempfile::tempdir;
use tokio::time::timeout;
use tramline_engine::ports::JournalStore;
use tramline_store::Sqlite;

/// Generous for a busy machine. The best of many waits shows what is promised.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn another_process_is_heard_soon() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let other = Sqlite::open(dir.path()).unwrap();
    let mut changes = store.changes();
    let mut waits = Vec::new();
    for seen in 0..20 {
        while timeout(Duration::from_millis(60), changes.changed())
            .await
            .is_ok()
        {}
        other
            .append(chunk(&run(1), seen, vec![0; 10]))
            .await
            .unwrap();
        let start = Instant::now();
        timeout(SOON, changes.changed()).await.unwrap().unwrap();
        waits.push(start.elapsed());
    }
    let best = waits.iter().min().unwrap();
    assert!(*best < Duration::from_millis(50), "{waits:?}");
}

#[tokio::test]
async fn silence_is_silent() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let mut changes = store.changes();
    timeout(SOON, changes.changed()).await.unwrap().unwrap();
    assert!(
        timeout(Duration::from_millis(150), changes.changed())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn who_comes_back_hears_again() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let other = Sqlite::open(dir.path()).unwrap();
    for seen in 0..5 {
        let mut changes = store.changes();
        while timeout(Duration::from_millis(60), changes.changed())
            .await
            .is_ok()
        {}
        other
            .append(chunk(&run(1), seen, vec![0; 10]))
            .await
            .unwrap();
        timeout(SOON, changes.changed()).await.unwrap().unwrap();
        drop(changes);
        // Long enough for the thread to find no subscriber and stop.
        tokio::time::sleep(Duration::from_millis(30 * seen)).await;
    }
}
