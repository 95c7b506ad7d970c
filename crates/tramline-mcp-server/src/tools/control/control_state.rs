//! Checks that every control command passes (rate limit, arrival order), and which workflows are being waited
//! for.

use super::arrivals::{Arrival, Arrivals};
use super::error::{ControlError, ReplyCode};
use super::rate_limit::CommandRateLimiter;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tramline_engine::{Engine, Fault};
use tramline_workflow::ids::RunId;

/// Control state of one server.
pub(crate) struct ControlState {
    rate_limiter: CommandRateLimiter,
    arrivals: Arrivals,
    /// Number of calls waiting for each workflow.
    waiting: Mutex<HashMap<RunId, usize>>,
}

/// A call that waits for a workflow, until dropped.
pub(super) struct WaitingCall<'d> {
    state: &'d ControlState,
    run: RunId,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ControlState {
    /// Creates the state, with a limit on commands per minute for each workflow.
    pub(crate) fn new(per_minute: u32, engine: Engine) -> Self {
        Self {
            rate_limiter: CommandRateLimiter::new(per_minute, engine),
            arrivals: Arrivals::default(),
            waiting: Mutex::default(),
        }
    }

    /// Admits a command, or returns when to try again.
    pub(super) async fn admit(&self, run: &RunId) -> Result<(), ControlError> {
        let Some(wait_ms) = self.rate_limiter.take(run).await.map_err(Fault::from)? else {
            return Ok(());
        };
        let message = format!(
            "more than {} commands a minute for {run}; try again in {wait_ms} ms",
            self.rate_limiter.per_minute()
        );
        let wrong = ControlError::new(ReplyCode::RateLimited, message).with_workflow(run);
        Err(wrong.with("retry_after_ms", wait_ms))
    }

    /// Records the arrival of a command, before anything is read.
    pub(super) fn arrive(&self, run: &RunId) -> Arrival<'_> {
        self.arrivals.arrive(run)
    }

    /// Records that a call waits for a workflow.
    pub(super) fn register_waiting(&self, run: &RunId) -> WaitingCall<'_> {
        *locked(&self.waiting).entry(run.clone()).or_default() += 1;
        WaitingCall {
            state: self,
            run: run.clone(),
        }
    }

    /// Whether a call waits for a workflow.
    pub(super) fn is_awaited(&self, run: &RunId) -> bool {
        locked(&self.waiting).contains_key(run)
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let mut attended = locked(&self.state.waiting);
        if let Some(count) = attended.get_mut(&self.run) {
            *count -= 1;
            if *count == 0 {
                attended.remove(&self.run);
            }
        }
    }
}
