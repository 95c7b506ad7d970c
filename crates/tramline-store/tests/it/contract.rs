//! The store contract, on disk and in memory.

use crate::{chunk, run};
use std::sync::Arc;
use tempfile::tempdir;
use tramline_engine::ports::JournalStore;
use tramline_engine::testing::{StoreRig, store_contract};
use tramline_store::Sqlite;

#[tokio::test(flavor = "multi_thread")]
async fn on_disk() {
    store_contract(async || {
        let dir = tempdir().unwrap();
        let store = Sqlite::open(dir.path()).unwrap();
        let other = Sqlite::open(dir.path()).unwrap();
        StoreRig::new(store).with_other(other).keeping(dir)
    })
    .await;
}

#[tokio::test]
async fn in_memory() {
    store_contract(async || StoreRig::new(Sqlite::in_memory().unwrap())).await;
}

/// More bytes than the queue allows: the rest waits and gets its turn.
#[tokio::test]
async fn takes_more_than_the_queue_holds() {
    const MEGABYTE: usize = 1024 * 1024;
    let store = Arc::new(Sqlite::in_memory().unwrap());
    let appends: Vec<_> = (0..100)
        .map(|n| {
            let store = Arc::clone(&store);
            let bytes = if n == 50 { 70 } else { 1 } * MEGABYTE;
            tokio::spawn(async move { store.append(chunk(&run(n), 0, vec![1; bytes])).await })
        })
        .collect();
    for append in appends {
        append.await.unwrap().unwrap();
    }
    let row = store.row(&run(50)).await.unwrap().unwrap();
    assert_eq!(row.bytes, 70 * MEGABYTE as u64);
}
