//! Notices what other processes append to the runs that this one drives.

use crate::engine::{Inner, Live};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tramline_core::ids::RunId;

/// How often at most the store is asked: answers come from people, 25 ms is soon.
const PAUSE_BETWEEN: Duration = Duration::from_millis(25);

/// Runs shorter than this end without anybody having looked: watching costs a thread.
const FIRST_LOOK: Duration = Duration::from_millis(50);

/// Rings the drivers of runs whose journals others have added to, as long as the engine lives.
pub(crate) async fn watch(engine: Weak<Inner>) {
    tokio::time::sleep(FIRST_LOOK).await;
    let Some(mut changes) = engine.upgrade().map(|inner| inner.store.changes()) else {
        return;
    };
    // Something may have come before the first look.
    changes.mark_changed();
    let mut before = HashSet::new();
    while changes.changed().await.is_ok() {
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let live: Vec<_> = inner
            .live()
            .iter()
            .map(|(run, live)| (run.clone(), Arc::clone(live)))
            .collect();
        // Whoever is gone by the next look is not worth one: servers begin and end thousands in a second.
        let seen: HashSet<_> = live.iter().map(|(run, _)| run.clone()).collect();
        if !seen.is_subset(&before) {
            changes.mark_changed();
        }
        let stays = |(run, _): &(RunId, Arc<Live>)| before.contains(run);
        for (run, live) in live.into_iter().filter(stays) {
            let Ok(Some(row)) = inner.store.row(&run).await else {
                continue;
            };
            if row.last > live.known.load(Ordering::Acquire) {
                live.word.notify_one();
            }
        }
        before = seen;
        drop(inner);
        tokio::time::sleep(PAUSE_BETWEEN).await;
    }
}
