//! Claims between processes, and notifications of changes.

use super::{StoreRig, chunk, run};
use crate::ports::{Append, AppendError, Claim, ClaimChange, RunStatus, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Far more than a change notification takes on the slowest machine.
const NOTIFIED_WITHIN: Duration = Duration::from_secs(10);

pub(super) async fn belong_to_one_process(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    store.append(chunk(&one, 0, 1)).await.unwrap();
    store.release(&one).await.unwrap();
    assert!(!driven(&store).await);
    assert!(store.claim(&one).await.unwrap().is_held());
    assert!(
        store.claim(&one).await.unwrap().is_held(),
        "a claim stays with its holder"
    );
    assert!(driven(&store).await);
    if let Some(other) = &rig.other {
        let Claim::Elsewhere { owner } = other.claim(&one).await.unwrap() else {
            panic!("two processes hold one claim");
        };
        assert!(!owner.is_empty());
        other.release(&one).await.unwrap();
        assert!(driven(other).await, "only its holder can release a claim");
        assert!(
            other.claim(&run(2)).await.unwrap().is_held(),
            "a claim also works before the first event"
        );
    }
    store.release(&one).await.unwrap();
    assert!(!driven(&store).await);
    if let Some(other) = &rig.other {
        assert!(other.claim(&one).await.unwrap().is_held());
        assert!(driven(&store).await);
    }
    store.remove(std::slice::from_ref(&one)).await.unwrap();
    assert!(
        store.claim(&one).await.unwrap().is_held(),
        "removing a run releases its claim"
    );
}

pub(super) async fn come_and_go_with_appends(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    let with = |seen, hold| Append {
        claim: hold,
        ..chunk(&one, seen, seen + 1)
    };
    let epoch = store.append(with(0, ClaimChange::Take)).await.unwrap();
    assert!(driven(&store).await);
    store
        .append(with(1, ClaimChange::Hold(epoch)))
        .await
        .unwrap();
    assert!(driven(&store).await);
    if let Some(other) = &rig.other {
        let taken = other.append(with(2, ClaimChange::Take)).await;
        let elsewhere =
            matches!(&taken, Err(AppendError::Elsewhere { owner }) if !owner.is_empty());
        assert!(elsewhere, "{taken:?}");
        assert!(
            store.read(&one, 2).await.unwrap().is_empty(),
            "nothing was appended"
        );
        other.append(with(2, ClaimChange::Keep)).await.unwrap();
        other.release(&one).await.unwrap();
        assert!(driven(other).await, "only its holder can release a claim");
    } else {
        let again = store.append(with(2, ClaimChange::Take)).await.unwrap();
        assert_eq!(again, epoch, "a claim that we hold does not change hands");
    }
    let moved = store.append(with(1, ClaimChange::Release(epoch))).await;
    assert!(
        matches!(moved, Err(AppendError::Conflict { last: 3 })),
        "{moved:?}"
    );
    assert!(driven(&store).await, "a rejected append releases nothing");
    store
        .append(with(3, ClaimChange::Release(epoch)))
        .await
        .unwrap();
    assert!(!driven(&store).await);
    let other = rig.other.as_ref().unwrap_or(&store);
    let moved = other.append(with(1, ClaimChange::Take)).await;
    assert!(
        matches!(moved, Err(AppendError::Conflict { last: 4 })),
        "{moved:?}"
    );
    assert!(!driven(&store).await, "a rejected append claims nothing");
    other.append(with(4, ClaimChange::Take)).await.unwrap();
    assert!(driven(&store).await);
    let mut end = with(5, ClaimChange::Keep);
    end.index_row.status = RunStatus::Completed;
    store.append(end).await.unwrap();
    assert!(!driven(&store).await, "an ended run has no driver");
}

pub(super) async fn die_with_their_process(rig: StoreRig) {
    let Some(other) = rig.other else {
        return;
    };
    let (store, one) = (rig.store, run(1));
    other.append(chunk(&one, 0, 1)).await.unwrap();
    assert!(other.claim(&one).await.unwrap().is_held());
    assert!(driven(&store).await);
    drop(other);
    let released = async {
        while driven(&store).await {
            tokio::task::yield_now().await;
        }
    };
    timeout(NOTIFIED_WITHIN, released).await.unwrap();
    assert!(store.claim(&one).await.unwrap().is_held());
}

pub(super) async fn go_to_one_of_many_askers(rig: StoreRig) {
    let Some(other) = rig.other else {
        return;
    };
    for n in 0..50 {
        let ask = |store: &Arc<dyn Store>| {
            let store = Arc::clone(store);
            tokio::spawn(async move { store.claim(&run(n)).await.unwrap() })
        };
        let (a, b) = (ask(&rig.store), ask(&other));
        let held = [a.await.unwrap(), b.await.unwrap()];
        let holders = held.iter().filter(|claim| claim.is_held());
        assert_eq!(holders.count(), 1, "{held:?}");
    }
}

pub(super) async fn changes_tick(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    let writers = [Some(Arc::clone(&store)), rig.other];
    for (seen, writer) in writers.into_iter().flatten().enumerate() {
        let mut changes = store.changes();
        let seen = seen as u64;
        writer.append(chunk(&one, seen, seen + 1)).await.unwrap();
        let told = async {
            while store.read(&one, seen).await.unwrap().is_empty() {
                changes.changed().await.unwrap();
            }
            // The promise is the notification, not only that the event is there.
            changes.changed().await.unwrap();
        };
        assert!(
            timeout(NOTIFIED_WITHIN, told).await.is_ok(),
            "no notification of {}",
            seen + 1
        );
    }
}

async fn driven(store: &Arc<dyn Store>) -> bool {
    let row = store.row(&run(1)).await.unwrap().unwrap();
    let page = store.runs(Default::default()).await.unwrap();
    let listed = page.rows.into_iter().find(|row| row.run == run(1));
    assert_eq!(listed.as_ref(), Some(&row));
    row.driven
}
