//! Alarms for calls, handed from one to the next.
//!
//! A new alarm that is the first to ring wakes the thread that waits for all of them, and nearly
//! every call is answered long before its alarm. One that is already set is used again: it may ring
//! early, and is then set to the right moment.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use tokio::time::{Instant, Sleep};

/// More than are ever needed at once are not kept.
const KEPT_MAX: usize = 64;

/// Alarms that nobody uses at the moment.
#[derive(Default)]
pub(super) struct Alarms(Mutex<Vec<Pin<Box<Sleep>>>>);

/// An alarm in use.
pub(super) struct Alarm<'a> {
    alarms: &'a Alarms,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarms {
    /// An alarm, whenever it may ring.
    pub(super) fn take(&self) -> Alarm<'_> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = kept.pop();
        Alarm {
            alarms: self,
            sleep,
        }
    }
}

impl Alarm<'_> {
    /// Waits until the moment has come, and not less.
    pub(super) async fn ring(&mut self, until: Instant) {
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

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        let Some(sleep) = self.sleep.take().filter(|sleep| !sleep.is_elapsed()) else {
            return;
        };
        let kept = self.alarms.0.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_MAX {
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
        let alarms = Alarms::default();
        for (given_up, wanted) in [(60_000, 10), (20, 50), (60_000, 30)] {
            let given_up = Instant::now() + Duration::from_millis(given_up);
            let mut alarm = alarms.take();
            let ringing = alarm.ring(given_up);
            let _ = tokio::time::timeout(Duration::from_millis(1), ringing).await;
            drop(alarm);
            let until = Instant::now() + Duration::from_millis(wanted);
            let mut alarm = alarms.take();
            let ringing = tokio::time::timeout(Duration::from_secs(30), alarm.ring(until));
            ringing.await.unwrap();
            assert!(Instant::now() >= until);
        }
    }
}
