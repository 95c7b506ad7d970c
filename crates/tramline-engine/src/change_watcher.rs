//! Notices events that other processes append to runs driven by this one.

use crate::engine::{ActiveRun, EngineInner};
use crate::ports::KnownEvents;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tramline_workflow::ids::RunId;

/// Shortest interval between two checks of the store: answers come from people, so 25 ms is soon
/// enough.
const CHANGE_POLL_MIN: Duration = Duration::from_millis(25);

/// Delay before the first check: shorter runs end before it, because watching costs a thread.
const FIRST_POLL_DELAY: Duration = Duration::from_millis(50);

/// Notifies the drivers of runs that other processes have appended to, as long as the engine lives.
pub(crate) async fn watch_changes(engine: Weak<EngineInner>) {
    tokio::time::sleep(FIRST_POLL_DELAY).await;
    let Some(mut changes) = engine.upgrade().map(|inner| inner.store.changes()) else {
        return;
    };
    // An event may have come before the first check.
    changes.mark_changed();
    let mut before = HashSet::new();
    while changes.changed().await.is_ok() {
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let live: Vec<_> = inner
            .active_runs()
            .iter()
            .map(|(run, live)| (run.clone(), Arc::clone(live)))
            .collect();
        // A run that ends before the next check is not checked: servers start and end thousands per
        // second.
        let seen: HashSet<_> = live.iter().map(|(run, _)| run.clone()).collect();
        if !seen.is_subset(&before) {
            changes.mark_changed();
        }
        let stays = |(run, _): &(RunId, Arc<ActiveRun>)| before.contains(run);
        let live: HashMap<_, _> = live.into_iter().filter(stays).collect();
        let known = |(run, live): (&RunId, &Arc<ActiveRun>)| KnownEvents {
            run: run.clone(),
            last: live.last_known.load(Ordering::Acquire),
        };
        let known: Vec<_> = live.iter().map(known).collect();
        // A failing store is reported to callers that use it.
        for run in inner.store.moved_on(&known).await.unwrap_or_default() {
            if let Some(live) = live.get(&run) {
                live.wakeup.notify_one();
            }
        }
        before = seen;
        drop(inner);
        tokio::time::sleep(CHANGE_POLL_MIN).await;
    }
}
