//! Retention: only what is finished goes, oldest first, and the disk gets its room back.

use crate::{chunk, database, fill, head, run};
use std::fs;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::tempdir;
use tramline_core::ids::RunId;
use tramline_engine::seams::{Claim, RunFilter, Status, Store};
use tramline_store::{Retention, Sqlite, Swept};

const HOUR_MS: i64 = 3_600_000;

/// A run of 1,000 bytes that ended (or not) so many hours ago.
async fn add(store: &Sqlite, n: u64, status: Status, hours: i64) -> RunId {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut append = chunk(&run(n), 0, vec![0; 1_000]);
    append.head = head(status);
    append.head.updated_ms = now.as_millis() as i64 - hours * HOUR_MS;
    store.append(append).await.unwrap();
    run(n)
}

async fn left(store: &Sqlite) -> Vec<RunId> {
    let page = store.runs(RunFilter::default()).await.unwrap();
    page.rows.into_iter().rev().map(|row| row.run).collect()
}

#[tokio::test]
async fn finished_runs_go_by_age() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    for (n, status) in Status::ALL.into_iter().enumerate() {
        add(&store, n as u64, status, 5).await;
        add(&store, 10 + n as u64, status, 1).await;
    }
    let driven = add(&store, 30, Status::Completed, 9).await;
    assert_eq!(store.claim(&driven).await.unwrap(), Claim::Held);
    let keep = Retention {
        finished_older_than_ms: Some(2 * HOUR_MS as u64),
        bytes_max: None,
    };
    let swept = store.sweep(keep).await.unwrap();
    assert_eq!(swept.runs, [2, 3, 4, 5].map(run));
    assert_eq!(swept.bytes, 4_000);
    let expected = [0, 1, 6, 10, 11, 12, 13, 14, 15, 16, 30].map(run);
    assert_eq!(left(&store).await, expected);
    assert_eq!(store.sweep(keep).await.unwrap(), Swept::default());
    let all = Retention::default();
    assert_eq!(store.sweep(all).await.unwrap(), Swept::default());
}

#[tokio::test]
async fn the_oldest_finished_runs_make_room() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    add(&store, 1, Status::Paused, 50).await;
    for n in 2..10 {
        add(&store, n, Status::Completed, n as i64).await;
    }
    let keep = |bytes_max| Retention {
        finished_older_than_ms: None,
        bytes_max: Some(bytes_max),
    };
    let swept = store.sweep(keep(6_500)).await.unwrap();
    assert_eq!(swept.runs, [9, 8, 7].map(run));
    assert_eq!(left(&store).await, [1, 2, 3, 4, 5, 6].map(run));
    store.sweep(keep(0)).await.unwrap();
    assert_eq!(left(&store).await, [run(1)], "what is not finished stays");
}

#[tokio::test]
async fn the_disk_gets_its_room_back() {
    const MEGABYTE: u64 = 1024 * 1024;
    let dir = tempdir().unwrap();
    let size = || fs::metadata(database(dir.path())).unwrap().len();
    let store = Arc::new(Sqlite::open(dir.path()).unwrap());
    fill(&store, 0..300, 10, 4_000).await;
    drop(store);
    let full = size();
    assert!(full > 11 * MEGABYTE);
    let store = Sqlite::open(dir.path()).unwrap();
    let most: Vec<_> = (0..290).map(run).collect();
    assert_eq!(store.remove(&most).await.unwrap(), 290);
    drop(store);
    assert!(size() < MEGABYTE, "{} of {full} left", size());
}
