//! Timers for calls, reused from one call to the next.
//!
//! Registering a new timer that is the first to fire wakes the thread that waits for all timers, and nearly
//! every call is answered long before its timeout. A registered timer is therefore reused: it may fire early
//! and is then reset to the right time.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use tokio::time::{Instant, Sleep};

/// Maximum number of idle timers kept: enough for the calls of one connection.
const IDLE_TIMERS_MAX: usize = 64;

/// Idle timers.
#[derive(Default)]
pub(super) struct TimerPool(Mutex<Vec<Pin<Box<Sleep>>>>);

/// A timer in use.
pub(super) struct PooledTimer<'a> {
    pool: &'a TimerPool,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl TimerPool {
    /// Takes a timer; its deadline does not matter until `ring`.
    pub(super) fn take(&self) -> PooledTimer<'_> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = kept.pop();
        PooledTimer { pool: self, sleep }
    }
}

impl PooledTimer<'_> {
    /// Waits until `until`, never less.
    pub(super) async fn wait_until(&mut self, until: Instant) {
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if sleep.deadline() > until {
            sleep.as_mut().reset(until);
        }
        loop {
            sleep.as_mut().await;
            if sleep.deadline() >= until {
                return;
            }
            sleep.as_mut().reset(until);
        }
    }
}

impl Drop for PooledTimer<'_> {
    fn drop(&mut self) {
        let Some(sleep) = self.sleep.take().filter(|sleep| !sleep.is_elapsed()) else {
            return;
        };
        let kept = self.pool.0.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        if kept.len() < IDLE_TIMERS_MAX {
            kept.push(sleep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn an_alarm_rings_at_its_moment_whatever_it_was_set_to_before() {
        let alarms = TimerPool::default();
        for (given_up, wanted) in [(60_000, 10), (20, 50), (60_000, 30)] {
            let given_up = Instant::now() + Duration::from_millis(given_up);
            let mut alarm = alarms.take();
            let ringing = alarm.wait_until(given_up);
            let _ = tokio::time::timeout(Duration::from_millis(1), ringing).await;
            drop(alarm);
            let until = Instant::now() + Duration::from_millis(wanted);
            let mut alarm = alarms.take();
            let ringing = tokio::time::timeout(Duration::from_secs(30), alarm.wait_until(until));
            ringing.await.unwrap();
            assert!(Instant::now() >= until);
        }
    }
}
