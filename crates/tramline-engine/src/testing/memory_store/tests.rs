//! Tests of the fake: it passes the contract, and crashes as configured.

use super::*;
use crate::testing::store_contract::{StoreRig, chunk, run, store_contract};

#[tokio::test]
async fn keeps_the_contract() {
    for store in [MemoryStore::new, || MemoryStore::new().with_leases()] {
        store_contract(async || {
            let store = store();
            let other = store.process();
            StoreRig::new(store).with_other(other)
        })
        .await;
    }
}

#[tokio::test]
async fn dies_after_the_given_append() {
    let store = MemoryStore::new();
    let run = run(1);
    store.crash_after(2);
    store.claim(&run).await.unwrap();
    store.append(chunk(&run, 0, 1)).await.unwrap();
    store.append(chunk(&run, 1, 2)).await.unwrap();
    assert!(store.append(chunk(&run, 2, 3)).await.is_err());
    assert!(store.read(&run, 0).await.is_err());
    assert_eq!(store.appends(), 2);
    let next = store.durable();
    assert_eq!(next.read(&run, 0).await.unwrap().len(), 2);
    assert!(next.claim(&run).await.unwrap().is_held());
}

#[tokio::test]
async fn an_unanswered_append_is_durable() {
    let store = MemoryStore::new();
    let run = run(1);
    store.crash_unanswered(1);
    assert!(store.append(chunk(&run, 0, 1)).await.is_err());
    assert_eq!(store.durable().read(&run, 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_killed_process_leaves_the_others() {
    let store = MemoryStore::new();
    let other = store.process();
    let run = run(1);
    store.claim(&run).await.unwrap();
    assert!(matches!(
        other.claim(&run).await.unwrap(),
        Claim::Elsewhere { .. }
    ));
    store.kill();
    assert!(other.claim(&run).await.unwrap().is_held());
    assert!(store.append(chunk(&run, 0, 1)).await.is_err());
    other.append(chunk(&run, 0, 1)).await.unwrap();
}
