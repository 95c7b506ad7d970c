//! How many runs one run may lead to, and how many of them are driven at once.
//!
//! Every run that a run calls, directly or through others, is born in the millisecond of the first:
//! see [`Store::born`](crate::seams::Store::born). So their number can be counted in the store, by
//! every process and after every restart, and is held in memory only to be quick.

use super::Engine;
use crate::fault::Fault;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};

/// Levels of workflows inside workflows: deeper is a workflow that calls itself.
pub(super) const NESTED_WORKFLOWS_MAX: u32 = 16;
/// Runs that one run may lead to, those of its children and theirs included.
pub const DESCENDANTS_MAX: u64 = 1_000;
/// Runs that others called which are driven at once in a process, on each level of nesting. A
/// level waits only for deeper ones, so that the deepest always gets on.
const CHILDREN_DRIVEN_MAX: usize = 512;
/// Runs that one process drives at once before it refuses to begin others.
pub const RUNS_DRIVEN_MAX: usize = 10_000;
/// How long a call of a workflow waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(60);
/// How long a count holds: what other processes begin is seen after it.
const COUNT_HOLDS: Duration = Duration::from_secs(1);
/// Families whose number is held in memory; others are counted again.
const FAMILIES_HELD_MAX: usize = 4_096;

/// The families of runs that are driven here.
pub(super) struct Families {
    counted: Mutex<BTreeMap<i64, Family>>,
    levels: Vec<Semaphore>,
}

/// The runs of one birth.
struct Family {
    runs: u64,
    counted: Instant,
}

impl Default for Families {
    fn default() -> Self {
        let levels = (0..NESTED_WORKFLOWS_MAX).map(|_| Semaphore::new(CHILDREN_DRIVEN_MAX));
        Self {
            counted: Mutex::default(),
            levels: levels.collect(),
        }
    }
}

impl Families {
    fn counted(&self) -> MutexGuard<'_, BTreeMap<i64, Family>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place in a family whose number is known; nothing if it must be counted first.
    fn take(&self, born_ms: i64, most: u64) -> Option<bool> {
        let mut counted = self.counted();
        let family = counted.get_mut(&born_ms)?;
        if family.counted.elapsed() >= COUNT_HOLDS {
            return None;
        }
        // The first of them is no child of another.
        let is_free = family.runs <= most;
        family.runs += u64::from(is_free);
        Some(is_free)
    }

    fn note(&self, born_ms: i64, runs: u64) {
        let mut counted = self.counted();
        let family = counted.entry(born_ms).or_insert(Family {
            runs,
            counted: Instant::now(),
        });
        // What was begun here may not have reached the store yet.
        family.runs = family.runs.max(runs);
        family.counted = Instant::now();
        while counted.len() > FAMILIES_HELD_MAX {
            counted.pop_first();
        }
    }
}

impl Engine {
    /// Waits for the turn of a workflow that is called at this depth, and holds it.
    pub(super) async fn turn(
        &self,
        name: &str,
        depth: u32,
        cancel: &CancellationToken,
    ) -> Result<SemaphorePermit<'_>, Failure> {
        let level = (depth.max(1) - 1) as usize;
        let Some(level) = self.0.families.levels.get(level) else {
            let message = format!(
                "`{name}` would be the {depth}th workflow inside another: does it call itself?"
            );
            return Err(Failure::new(FailureKind::Limit, message));
        };
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let message = format!("workflow `{name}` was cancelled before its turn came");
                return Err(Failure::new(FailureKind::Cancelled, message));
            }
            turn = tokio::time::timeout(TURN_WAIT, level.acquire()) => turn,
        };
        turn.ok().and_then(Result::ok).ok_or_else(|| {
            let message = format!(
                "workflow `{name}` got no turn in {} s: {CHILDREN_DRIVEN_MAX} workflows inside \
                 others are under way in this process",
                TURN_WAIT.as_secs()
            );
            Failure::new(FailureKind::Unavailable, message)
        })
    }

    /// Takes a place among all the runs that one run leads to.
    pub(super) async fn join_family(&self, name: &str, born_ms: i64) -> Result<(), Failure> {
        let most = self.0.options.descendants_max;
        let mut taken = self.0.families.take(born_ms, most);
        if taken.is_none() {
            let born = self.0.store.born(born_ms).await.map_err(|fault| {
                Failure::new(FailureKind::Unavailable, Fault::from(fault).to_string())
            })?;
            self.0.families.note(born_ms, born);
            taken = self.0.families.take(born_ms, most);
        }
        match taken {
            Some(true) => Ok(()),
            Some(false) | None => {
                let message = format!(
                    "`{name}` was not begun: the run that all this began with has led to {most} \
                     runs, its limit (`limits.descendants`)"
                );
                Err(Failure::new(FailureKind::Limit, message))
            }
        }
    }

    /// Refuses another run where this process drives as many as it may.
    pub(super) fn can_drive(&self) -> Result<(), Fault> {
        let most = self.0.options.driven_max;
        match self.0.live().len() < most {
            true => Ok(()),
            false => Err(Fault::Quota(format!(
                "this process drives {most} runs, as many as it may (`limits.runs_at_once`); wait \
                 until some have ended"
            ))),
        }
    }
}
