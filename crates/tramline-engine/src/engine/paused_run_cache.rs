//! A cache of paused runs that this process drove last, so that resuming need not fold their
//! journals.
//!
//! An entry may be stale, because another process may have appended since. A resumed run appends
//! after the event it has seen, so a stale entry costs one rejected append and nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// Paused runs in the cache: enough for those that agents work on now.
const CACHED_RUNS_MAX: usize = 256;
/// Bytes of a journal whose run may be cached: the memory of a run grows with its journal.
const CACHED_RUN_BYTES_MAX: u64 = 1 << 20;

/// The cached runs.
#[derive(Default)]
pub(super) struct PausedRunCache(Mutex<PausedRuns>);

#[derive(Default)]
struct PausedRuns {
    runs: HashMap<RunId, CachedRun>,
    /// In order of insertion, by number. Some have been taken since.
    order: VecDeque<(u64, RunId)>,
    inserted: u64,
}

struct CachedRun {
    run: Arc<Run>,
    bytes: u64,
    number: u64,
}

impl PausedRunCache {
    /// Caches a run with the size of its journal.
    pub(super) fn put(&self, run: Arc<Run>, bytes: u64) {
        if bytes > CACHED_RUN_BYTES_MAX {
            return;
        }
        let mut kept = self.lock_runs();
        kept.inserted += 1;
        let (number, id) = (kept.inserted, run.id.clone());
        kept.order.push_back((number, id.clone()));
        kept.runs.insert(id, CachedRun { run, bytes, number });
        while kept.runs.len() > CACHED_RUNS_MAX || kept.order.len() > 2 * CACHED_RUNS_MAX {
            let Some((number, oldest)) = kept.order.pop_front() else {
                return;
            };
            // A run that was taken and put back counts as new.
            if kept
                .runs
                .get(&oldest)
                .is_some_and(|copy| copy.number == number)
            {
                kept.runs.remove(&oldest);
            }
        }
    }

    /// Takes a run out.
    pub(super) fn take(&self, id: &RunId) -> Option<(Run, u64)> {
        let copy = self.lock_runs().runs.remove(id)?;
        Some((Arc::unwrap_or_clone(copy.run), copy.bytes))
    }

    /// Whether the cache is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.lock_runs().runs.is_empty()
    }

    /// Whether a run is cached.
    pub(super) fn contains(&self, id: &RunId) -> bool {
        self.lock_runs().runs.contains_key(id)
    }

    fn lock_runs(&self) -> MutexGuard<'_, PausedRuns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
