//! Removal: the space of removed runs is returned to the disk.

use crate::{database, fill, run};
use std::fs;
use std::sync::Arc;
use tempfile::tempdir;
use tramline_engine::ports::JournalStore;
use tramline_store::Sqlite;

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
