//! How a server is, for people.

use super::super::{State, Status};
use super::{Phase, Server};
use tokio::time::Instant;

impl Server {
    /// How the server is, for people.
    pub(in crate::client) fn status(&self) -> Status {
        let now = Instant::now();
        let state = match &*self.phase.borrow() {
            _ if self.config.disabled => State::Disabled,
            Phase::Idle => State::NotStarted,
            Phase::Starting(since) => State::Starting {
                since: now - *since,
            },
            Phase::Ready(connection) => State::Ready {
                pid: connection.pid,
                tools: self.catalog().all.len(),
                era: connection.era,
                since: now - connection.since,
            },
            Phase::Resting { until, failure, .. } => State::BackingOff {
                retry_in: until.saturating_duration_since(now),
                failure: failure.clone(),
            },
        };
        Status {
            server: self.name().clone(),
            state,
        }
    }
}
