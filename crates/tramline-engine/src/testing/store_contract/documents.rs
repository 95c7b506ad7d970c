//! Documents with concurrent writers: no one overwrites what it has not seen.

use super::StoreRig;
use crate::ports::Store;
use futures_util::future::join_all;
use std::sync::Arc;

/// Writers of one document, and how often each of them adds to it.
const WRITERS: u64 = 8;
const TIMES: u64 = 25;

pub(super) async fn swaps_what_was_seen(rig: StoreRig) {
    for noted in [false, true] {
        swaps(&*rig.store, noted).await;
        let other = rig.other.as_ref().unwrap_or(&rig.store);
        let kept = other.get("kind", "key").await.unwrap();
        assert_eq!(
            kept.as_deref(),
            Some(&b"three"[..]),
            "other processes see it"
        );
        rig.store.delete("kind", &["key".into()]).await.unwrap();
    }
}

async fn swaps(store: &dyn Store, noted: bool) {
    let swap = async |seen: Option<&str>, body: &str| {
        let seen = seen.map(|seen| seen.as_bytes().to_vec());
        let swapped = match noted {
            false => store.swap("kind", "key", seen, body.into()).await,
            true => store.swap_relaxed("kind", "key", seen, body.into()).await,
        };
        swapped.unwrap()
    };
    assert!(!swap(Some("none"), "one").await, "there is nothing yet");
    assert!(swap(None, "one").await);
    assert!(!swap(None, "two").await, "there is something now");
    assert!(!swap(Some("two"), "two").await, "the document is different");
    let kept = store.get("kind", "key").await.unwrap();
    assert_eq!(kept.as_deref(), Some(&b"one"[..]));
    assert!(swap(Some("one"), "two").await);
    store.delete("kind", &["key".into()]).await.unwrap();
    assert!(
        !swap(Some("two"), "three").await,
        "the document was removed"
    );
    assert!(swap(None, "three").await);
}

pub(super) async fn loses_no_swap_of_many(rig: StoreRig) {
    let other = rig.other.clone().unwrap_or_else(|| rig.store.clone());
    let stores = [rig.store.clone(), other];
    let writers = (0..WRITERS).map(|n| {
        let store = Arc::clone(&stores[n as usize % 2]);
        tokio::spawn(async move {
            for _ in 0..TIMES {
                add_one(&*store).await;
            }
        })
    });
    for written in join_all(writers).await {
        written.unwrap();
    }
    let count = rig.store.get("kind", "count").await.unwrap().unwrap();
    assert_eq!(count, (WRITERS * TIMES).to_string().into_bytes());
}

async fn add_one(store: &dyn Store) {
    loop {
        let seen = store.get("kind", "count").await.unwrap();
        let count = seen.as_deref().map_or(0, |seen| {
            std::str::from_utf8(seen).unwrap().parse::<u64>().unwrap()
        });
        let more = (count + 1).to_string().into_bytes();
        if store.swap("kind", "count", seen, more).await.unwrap() {
            return;
        }
    }
}
