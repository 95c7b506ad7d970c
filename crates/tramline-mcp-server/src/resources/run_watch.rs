//! Watches runs for clients that subscribed to them, whichever process drives them.
//!
//! One task reads the rows of all watched runs after a change of the store, at most a few times a second. A run is no
//! longer watched once it has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tramline_engine::ports::{RunStatus, Store};
use tramline_workflow::ids::{RunId, Seq};

/// Runs that are watched at once.
const RUNS_WATCHED_MAX: usize = 10_000;
/// Shortest time between two looks at the store: many events in it are one change for a client.
const LOOK_INTERVAL_MIN: Duration = Duration::from_millis(200);
/// Longest time between two looks: a process that dies sends no notification.
const LOOK_INTERVAL_MAX: Duration = Duration::from_secs(1);
/// Changes that a slow listener may miss; it is then notified of all its runs.
const CHANGES_KEPT: usize = 1_024;

/// A run that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunChange {
    /// The run.
    pub(crate) run: RunId,
    /// Its status now.
    pub(crate) status: RunStatus,
    /// Whether the status differs from the one seen before.
    pub(crate) is_new_status: bool,
}

/// The watched runs.
pub(crate) struct RunWatch {
    store: Arc<dyn Store>,
    watched: Mutex<HashMap<RunId, Option<(Seq, RunStatus)>>>,
    changes: broadcast::Sender<RunChange>,
    /// Wakes the task when there is something to watch.
    added: watch::Sender<u64>,
}

impl RunWatch {
    pub(crate) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            store,
            watched: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            added: watch::Sender::new(0),
        })
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<RunId, Option<(Seq, RunStatus)>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The changes of watched runs from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<RunChange> {
        self.changes.subscribe()
    }

    /// Watches a run; `false` if too many are watched. The first call starts the task.
    pub(crate) fn add(self: &Arc<Self>, run: &RunId) -> bool {
        let mut watched = self.watched();
        if watched.len() >= RUNS_WATCHED_MAX && !watched.contains_key(run) {
            return false;
        }
        watched.entry(run.clone()).or_insert(None);
        drop(watched);
        if self.added.receiver_count() == 0 {
            let looking = Arc::downgrade(self);
            let mut added = self.added.subscribe();
            let mut stored = self.store.changes();
            tokio::spawn(async move {
                while let Some(watch) = looking.upgrade() {
                    added.mark_unchanged();
                    watch.look().await;
                    let is_idle = watch.watched().is_empty();
                    drop(watch);
                    if is_idle {
                        if added.changed().await.is_err() {
                            return;
                        }
                        continue;
                    }
                    tokio::time::sleep(LOOK_INTERVAL_MIN).await;
                    let _ = tokio::time::timeout(LOOK_INTERVAL_MAX, async {
                        tokio::select! {
                            _ = stored.changed() => {}
                            _ = added.changed() => {}
                        }
                    })
                    .await;
                }
            });
        }
        self.added.send_modify(|count| *count += 1);
        true
    }

    /// Reads the rows of all watched runs and reports those that have changed.
    async fn look(&self) {
        let runs: Vec<RunId> = self.watched().keys().cloned().collect();
        for run in runs {
            // If the store cannot be read, the next look finds the change.
            let Ok(row) = self.store.row(&run).await else {
                continue;
            };
            let Some(row) = row else {
                self.watched().remove(&run);
                continue;
            };
            let now = (row.last, row.index_row.status);
            let mut watched = self.watched();
            let before = match watched.get_mut(&run) {
                Some(before) => before.replace(now),
                None => continue,
            };
            if now.1.is_over() {
                watched.remove(&run);
            }
            drop(watched);
            let is_new_status = before.is_none_or(|before| before.1 != now.1);
            // What was there when the watch began is no change, unless the run is already over.
            if before.is_some_and(|before| before != now) || before.is_none() && now.1.is_over() {
                let status = now.1;
                let _ = self.changes.send(RunChange {
                    run,
                    status,
                    is_new_status,
                });
            }
        }
    }
}
