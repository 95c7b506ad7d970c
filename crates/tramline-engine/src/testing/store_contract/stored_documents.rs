//! Documents that journals refer to: each is stored once, as long as a journal needs it.

use super::{StoreRig, chunk, head, run};
use crate::ports::{Append, ClaimChange, RunStatus, Store};
use futures_util::future::join;
use std::sync::Arc;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{ContentDigest, StoredDocument};

/// How often a run starts while another one is removed.
const ROUNDS: u64 = 50;

fn document(text: &str) -> Arc<StoredDocument> {
    Arc::new(StoredDocument::of(&text).unwrap())
}

/// The first chunk of a run that refers to these documents.
fn begins(run: &RunId, documents: &[&Arc<StoredDocument>]) -> Append {
    let documents = documents.iter().map(|it| Arc::clone(it)).collect();
    Append {
        documents,
        ..chunk(run, 0, 1)
    }
}

async fn body(store: &dyn Store, digest: &ContentDigest) -> Option<Vec<u8>> {
    store.document(digest).await.unwrap()
}

pub(super) async fn is_kept_with_its_append(rig: StoreRig) {
    let (store, one) = (&*rig.store, document("one"));
    assert_eq!(body(store, &one.digest).await, None);
    store.append(begins(&run(1), &[&one])).await.unwrap();
    assert_eq!(body(store, &one.digest).await.as_ref(), Some(&one.body));
    let other = rig.other.as_ref().unwrap_or(&rig.store);
    let seen = body(&**other, &one.digest).await;
    assert_eq!(seen.as_ref(), Some(&one.body), "other processes see it");

    // A rejected append leaves nothing.
    let two = document("two");
    store.append(begins(&run(1), &[&two])).await.unwrap_err();
    assert_eq!(body(store, &two.digest).await, None);
    store.claim(&run(2)).await.unwrap();
    if let Some(other) = &rig.other {
        let taken = Append {
            claim: ClaimChange::Take,
            ..begins(&run(2), &[&two])
        };
        other.append(taken).await.unwrap_err();
        assert_eq!(body(store, &two.digest).await, None);
    }
    // A later append may carry one too.
    let later = Append {
        documents: vec![Arc::clone(&two)],
        ..chunk(&run(1), 1, 2)
    };
    store.append_relaxed(later).await.unwrap();
    for it in [&one, &two] {
        assert_eq!(body(store, &it.digest).await.as_ref(), Some(&it.body));
    }
    store.remove(&[run(1)]).await.unwrap();
    for it in [&one, &two] {
        assert_eq!(body(store, &it.digest).await, None);
    }
}

pub(super) async fn is_kept_once(rig: StoreRig) {
    let large = document(&"x".repeat(100_000));
    for n in 0..20 {
        let begins = begins(&run(n), &[&large, &large]);
        rig.store.append(begins).await.unwrap();
    }
    let bytes = rig.store.usage().await.unwrap().bytes;
    assert!((100_000..110_000).contains(&bytes), "{bytes}");
}

pub(super) async fn goes_with_the_last_that_refers_to_it(rig: StoreRig) {
    let (store, shared, own) = (&*rig.store, document("shared"), document("own"));
    let first = begins(&run(1), &[&shared, &own]);
    store.append(first).await.unwrap();
    store.append(begins(&run(2), &[&shared])).await.unwrap();
    store.append(chunk(&run(3), 0, 1)).await.unwrap();
    store.remove(&[run(1), run(3)]).await.unwrap();
    assert_eq!(body(store, &own.digest).await, None);
    assert!(body(store, &shared.digest).await.is_some());
    store.remove(&[run(2)]).await.unwrap();
    assert_eq!(body(store, &shared.digest).await, None);
    assert_eq!(store.usage().await.unwrap().bytes, 0);
    // It returns with the next run that refers to it.
    store.append(begins(&run(4), &[&shared])).await.unwrap();
    assert!(body(store, &shared.digest).await.is_some());
}

pub(super) async fn is_there_for_every_run_while_others_are_removed(rig: StoreRig) {
    let other = rig.other.as_ref().unwrap_or(&rig.store);
    let shared = document("shared");
    for n in 0..ROUNDS {
        let mut ended = begins(&run(2 * n), &[&shared]);
        ended.index_row = head(RunStatus::Completed);
        rig.store.append(ended).await.unwrap();
        // One process removes the last run that refers to it, another one starts the next.
        let gone = [run(2 * n)];
        let next = run(2 * n + 1);
        let (removed, begun) = join(
            other.remove(&gone),
            rig.store.append(begins(&next, &[&shared])),
        )
        .await;
        assert_eq!(removed.unwrap(), 1);
        begun.unwrap();
        let found = body(&*rig.store, &shared.digest).await;
        assert_eq!(found.as_ref(), Some(&shared.body), "round {n}");
        rig.store.remove(&[next]).await.unwrap();
        assert_eq!(body(&*rig.store, &shared.digest).await, None, "round {n}");
    }
}
