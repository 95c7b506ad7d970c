//! What every control command passes: how many there may be, and who waits.

use super::wrong::{Code, Wrong};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tramline_core::ids::RunId;
use tramline_engine::clock;

/// Beyond so many workflows, those whose pace is forgotten anyway are dropped.
const PACED_MAX: usize = 10_000;

const MINUTE_MS: i64 = 60_000;

/// The desk of one server.
pub(in super::super) struct Desk {
    per_minute: u32,
    /// For each workflow, when its commands so far would be used up at an even pace.
    paces: Mutex<HashMap<RunId, i64>>,
    /// How many calls wait for each workflow.
    attended: Mutex<HashMap<RunId, usize>>,
}

/// A call that waits for a workflow, until dropped.
pub(super) struct Attending<'d> {
    desk: &'d Desk,
    run: RunId,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// A desk that lets so many commands a minute through for each workflow.
    pub(in super::super) fn new(per_minute: u32) -> Self {
        Self {
            per_minute: per_minute.max(1),
            paces: Mutex::default(),
            attended: Mutex::default(),
        }
    }

    /// Lets a command through, or says when to come again.
    pub(super) fn admit(&self, run: &RunId) -> Result<(), Wrong> {
        let wait_ms = self.pace(run, clock::now_ms());
        if wait_ms == 0 {
            return Ok(());
        }
        let message = format!(
            "more than {} commands a minute for {run}; try again in {wait_ms} ms",
            self.per_minute
        );
        let wrong = Wrong::new(Code::RateLimited, message).of(run);
        Err(wrong.with("retry_after_ms", wait_ms))
    }

    /// How long a command of now has to wait; nothing counts it in.
    fn pace(&self, run: &RunId, now_ms: i64) -> i64 {
        let each_ms = MINUTE_MS / i64::from(self.per_minute);
        let mut paces = locked(&self.paces);
        if paces.len() >= PACED_MAX {
            paces.retain(|_, until| *until > now_ms);
        }
        let until = paces.get(run).copied().unwrap_or(0).max(now_ms);
        let over = until + each_ms - now_ms - MINUTE_MS;
        if over > 0 {
            return over;
        }
        paces.insert(run.clone(), until + each_ms.max(1));
        0
    }

    /// Says that a call waits for a workflow.
    pub(super) fn attending(&self, run: &RunId) -> Attending<'_> {
        *locked(&self.attended).entry(run.clone()).or_default() += 1;
        Attending {
            desk: self,
            run: run.clone(),
        }
    }

    /// Whether a call waits for a workflow.
    pub(super) fn is_attended(&self, run: &RunId) -> bool {
        locked(&self.attended).contains_key(run)
    }
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        let mut attended = locked(&self.desk.attended);
        if let Some(count) = attended.get_mut(&self.run) {
            *count -= 1;
            if *count == 0 {
                attended.remove(&self.run);
            }
        }
    }
}
