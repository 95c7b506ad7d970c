//! What every control command passes: how many there may be, and who waits.

use super::arrivals::{Arrival, Arrivals};
use super::pace::Pace;
use super::wrong::{Code, Wrong};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tramline_core::ids::RunId;
use tramline_engine::{Engine, Fault};

/// The desk of one server.
pub(in super::super) struct Desk {
    pace: Pace,
    arrivals: Arrivals,
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
    pub(in super::super) fn new(per_minute: u32, engine: Engine) -> Self {
        Self {
            pace: Pace::new(per_minute, engine),
            arrivals: Arrivals::default(),
            attended: Mutex::default(),
        }
    }

    /// Lets a command through, or says when to come again.
    pub(super) async fn admit(&self, run: &RunId) -> Result<(), Wrong> {
        let Some(wait_ms) = self.pace.take(run).await.map_err(Fault::from)? else {
            return Ok(());
        };
        let message = format!(
            "more than {} commands a minute for {run}; try again in {wait_ms} ms",
            self.pace.per_minute()
        );
        let wrong = Wrong::new(Code::RateLimited, message).of(run);
        Err(wrong.with("retry_after_ms", wait_ms))
    }

    /// Notes that a command has arrived, before anything is looked at.
    pub(super) fn arrive(&self, run: &RunId) -> Arrival<'_> {
        self.arrivals.arrive(run)
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
