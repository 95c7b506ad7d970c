//! Limits on the number of descendants of a run, and on how many child runs are driven at once.
//!
//! Every descendant of a run carries the creation millisecond of the root run: see
//! [`Store::born`](crate::ports::Store::born). So every process can count them in the store, also
//! after a restart; the count in memory is only a cache.

use super::Engine;
use crate::fault::Fault;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tramline_workflow::failure::{Failure, FailureKind};

/// Levels of workflows inside workflows. A deeper workflow most likely calls itself.
pub(super) const NESTED_WORKFLOWS_MAX: u32 = 16;
/// Descendants that one run may have, at all levels together.
pub const DESCENDANTS_MAX: u64 = 1_000;
/// Child runs that a process drives at once on each level of nesting. A level waits only for deeper
/// ones, so the deepest can always make progress.
const CHILDREN_DRIVEN_MAX: usize = 512;
/// Runs that one process drives at once before it rejects new ones.
pub const RUNS_DRIVEN_MAX: usize = 10_000;
/// Time that a workflow call waits for a free slot among the child runs.
const CHILD_SLOT_WAIT_MAX: Duration = Duration::from_secs(60);
/// Time for which a count is valid; runs of other processes are seen after it.
const DESCENDANT_COUNT_TTL: Duration = Duration::from_secs(1);
/// Families whose count is kept in memory; others are counted again.
const DESCENDANT_COUNTS_MAX: usize = 4_096;

/// The families of the runs driven in this process.
pub(super) struct DescendantCounts {
    counts: Mutex<BTreeMap<i64, DescendantCount>>,
    levels: Vec<Semaphore>,
}

/// The runs that share one creation time.
struct DescendantCount {
    runs: u64,
    counted_at: Instant,
}

impl Default for DescendantCounts {
    fn default() -> Self {
        let levels = (0..NESTED_WORKFLOWS_MAX).map(|_| Semaphore::new(CHILDREN_DRIVEN_MAX));
        Self {
            counts: Mutex::default(),
            levels: levels.collect(),
        }
    }
}

impl DescendantCounts {
    fn lock_counts(&self) -> MutexGuard<'_, BTreeMap<i64, DescendantCount>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place in a family whose count is valid; `None` if it must be counted first.
    fn take(&self, born_ms: i64, most: u64) -> Option<bool> {
        let mut counted = self.lock_counts();
        let family = counted.get_mut(&born_ms)?;
        if family.counted_at.elapsed() >= DESCENDANT_COUNT_TTL {
            return None;
        }
        // The root run is not a child.
        let is_free = family.runs <= most;
        family.runs += u64::from(is_free);
        Some(is_free)
    }

    fn set_count(&self, born_ms: i64, runs: u64) {
        let mut counted = self.lock_counts();
        let family = counted.entry(born_ms).or_insert(DescendantCount {
            runs,
            counted_at: Instant::now(),
        });
        // A run that started here may not be in the store yet.
        family.runs = family.runs.max(runs);
        family.counted_at = Instant::now();
        while counted.len() > DESCENDANT_COUNTS_MAX {
            counted.pop_first();
        }
    }
}

impl Engine {
    /// Waits for a free slot at this depth, and holds it.
    pub(super) async fn child_slot(
        &self,
        name: &str,
        depth: u32,
        cancel: &CancellationToken,
    ) -> Result<SemaphorePermit<'_>, Failure> {
        let level = (depth.max(1) - 1) as usize;
        let Some(level) = self.0.descendants.levels.get(level) else {
            let message = format!(
                "`{name}` would be nested {depth} workflows deep; check whether it calls itself"
            );
            return Err(Failure::new(FailureKind::Limit, message));
        };
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let message = format!("workflow `{name}` was cancelled while it waited for a free slot");
                return Err(Failure::new(FailureKind::Cancelled, message));
            }
            turn = tokio::time::timeout(CHILD_SLOT_WAIT_MAX, level.acquire()) => turn,
        };
        turn.ok().and_then(Result::ok).ok_or_else(|| {
            let message = format!(
                "workflow `{name}` got no free slot within {} s: this process \
                 drives {CHILDREN_DRIVEN_MAX} child runs at this depth",
                CHILD_SLOT_WAIT_MAX.as_secs()
            );
            Failure::new(FailureKind::Unavailable, message)
        })
    }

    /// Takes a place among all descendants of a root run.
    pub(super) async fn count_descendant(&self, name: &str, born_ms: i64) -> Result<(), Failure> {
        let most = self.0.options.descendants_max;
        let mut taken = self.0.descendants.take(born_ms, most);
        if taken.is_none() {
            let born = self.0.store.count_created(born_ms).await.map_err(|fault| {
                Failure::new(FailureKind::Unavailable, Fault::from(fault).to_string())
            })?;
            // The root run counts too, although its first event may not be in the store yet.
            self.0.descendants.set_count(born_ms, born.max(1));
            taken = self.0.descendants.take(born_ms, most);
        }
        match taken {
            Some(true) => Ok(()),
            Some(false) | None => {
                let message = format!(
                    "`{name}` was not started: the root run already has {most} descendants, its \
                     limit (`limits.descendants`)"
                );
                Err(Failure::new(FailureKind::Limit, message))
            }
        }
    }

    /// Rejects a new run if this process already drives the maximum.
    pub(super) fn check_driven_limit(&self) -> Result<(), Fault> {
        let most = self.0.options.driven_max;
        match self.0.active_runs().len() < most {
            true => Ok(()),
            false => Err(Fault::Quota(format!(
                "this process drives {most} runs, its limit (`limits.runs_at_once`); wait \
                 until some have ended"
            ))),
        }
    }
}
