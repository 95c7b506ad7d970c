//! Claims between processes, and being told of changes.

use super::{StoreRig, chunk, run};
use crate::seams::{Append, AppendError, Claim, Hold, Status, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Far more than a change may take to be told, on the slowest machine.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

pub(super) async fn belong_to_one_process(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    store.append(chunk(&one, 0, 1)).await.unwrap();
    store.release(&one).await.unwrap();
    assert!(!driven(&store).await);
    assert_eq!(store.claim(&one).await.unwrap(), Claim::Held);
    assert_eq!(
        store.claim(&one).await.unwrap(),
        Claim::Held,
        "it stays ours"
    );
    assert!(driven(&store).await);
    if let Some(other) = &rig.other {
        let Claim::Elsewhere { owner } = other.claim(&one).await.unwrap() else {
            panic!("two processes hold one claim");
        };
        assert!(!owner.is_empty());
        other.release(&one).await.unwrap();
        assert!(driven(other).await, "only its holder gives a claim back");
        assert_eq!(
            other.claim(&run(2)).await.unwrap(),
            Claim::Held,
            "also before it has events"
        );
    }
    store.release(&one).await.unwrap();
    assert!(!driven(&store).await);
    if let Some(other) = &rig.other {
        assert_eq!(other.claim(&one).await.unwrap(), Claim::Held);
        assert!(driven(&store).await);
    }
    store.remove(std::slice::from_ref(&one)).await.unwrap();
    assert_eq!(
        store.claim(&one).await.unwrap(),
        Claim::Held,
        "removing frees"
    );
}

pub(super) async fn come_and_go_with_appends(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    let with = |seen, hold| Append {
        hold,
        ..chunk(&one, seen, seen + 1)
    };
    store.append(with(0, Hold::Take)).await.unwrap();
    assert!(driven(&store).await);
    store.append(with(1, Hold::Keep)).await.unwrap();
    assert!(driven(&store).await);
    if let Some(other) = &rig.other {
        let taken = other.append(with(2, Hold::Take)).await;
        let elsewhere =
            matches!(&taken, Err(AppendError::Elsewhere { owner }) if !owner.is_empty());
        assert!(elsewhere, "{taken:?}");
        assert!(
            store.read(&one, 2).await.unwrap().is_empty(),
            "nothing was appended"
        );
        other.append(with(2, Hold::Give)).await.unwrap();
        assert!(driven(other).await, "only its holder gives a claim back");
    } else {
        store.append(with(2, Hold::Take)).await.unwrap();
    }
    let moved = store.append(with(1, Hold::Give)).await;
    assert!(
        matches!(moved, Err(AppendError::Moved { last: 3 })),
        "{moved:?}"
    );
    assert!(
        driven(&store).await,
        "what was not appended gives nothing back"
    );
    store.append(with(3, Hold::Give)).await.unwrap();
    assert!(!driven(&store).await);
    let other = rig.other.as_ref().unwrap_or(&store);
    let moved = other.append(with(1, Hold::Take)).await;
    assert!(
        matches!(moved, Err(AppendError::Moved { last: 4 })),
        "{moved:?}"
    );
    assert!(!driven(&store).await, "what was not appended takes nothing");
    other.append(with(4, Hold::Take)).await.unwrap();
    assert!(driven(&store).await);
    let mut end = with(5, Hold::Keep);
    end.head.status = Status::Completed;
    store.append(end).await.unwrap();
    assert!(!driven(&store).await, "nobody drives what is over");
}

pub(super) async fn die_with_their_process(rig: StoreRig) {
    let Some(other) = rig.other else {
        return;
    };
    let (store, one) = (rig.store, run(1));
    other.append(chunk(&one, 0, 1)).await.unwrap();
    assert_eq!(other.claim(&one).await.unwrap(), Claim::Held);
    assert!(driven(&store).await);
    drop(other);
    assert!(!driven(&store).await);
    assert_eq!(store.claim(&one).await.unwrap(), Claim::Held);
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
        let holders = held.iter().filter(|claim| **claim == Claim::Held);
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
            // Being told is the promise, not only that the event is there.
            changes.changed().await.unwrap();
        };
        assert!(
            timeout(TOLD_WITHIN, told).await.is_ok(),
            "nobody told of {}",
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
