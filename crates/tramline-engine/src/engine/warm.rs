//! Paused runs that this process drove last, kept so that going on need not fold their journals.
//!
//! A copy may be behind: another process may have appended since. Whoever goes on from it appends
//! after the event it has seen, so a stale copy costs one refused append and nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tramline_core::ids::RunId;
use tramline_core::run::Run;

/// So many are kept: those that agents are working on now, of all that wait.
const WARM_RUNS_MAX: usize = 256;
/// Runs with longer journals are folded again: what they hold in memory grows with it.
const WARM_BYTES_MAX: u64 = 1 << 20;

/// The runs that are kept.
#[derive(Default)]
pub(super) struct Warm(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    runs: HashMap<RunId, Copy>,
    /// In the order they came, by number. Some were taken since.
    order: VecDeque<(u64, RunId)>,
    came: u64,
}

struct Copy {
    run: Run,
    bytes: u64,
    number: u64,
}

impl Warm {
    /// Keeps a run, with the bytes of its journal.
    pub(super) fn put(&self, run: Run, bytes: u64) {
        if bytes > WARM_BYTES_MAX {
            return;
        }
        let mut kept = self.kept();
        kept.came += 1;
        let (number, id) = (kept.came, run.id.clone());
        kept.order.push_back((number, id.clone()));
        kept.runs.insert(id, Copy { run, bytes, number });
        while kept.runs.len() > WARM_RUNS_MAX || kept.order.len() > 2 * WARM_RUNS_MAX {
            let Some((number, oldest)) = kept.order.pop_front() else {
                return;
            };
            // One that was taken and put back counts from then on.
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
        let copy = self.kept().runs.remove(id)?;
        Some((copy.run, copy.bytes))
    }

    /// Whether none is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.kept().runs.is_empty()
    }

    /// Whether a run is kept.
    pub(super) fn holds(&self, id: &RunId) -> bool {
        self.kept().runs.contains_key(id)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
