//! Status of a server for display.

use super::super::{ServerState, ServerStatus};
use super::{ServerPhase, SupervisedServer};
use tokio::time::Instant;

impl SupervisedServer {
    /// Status of the server for display.
    pub(crate) fn status(&self) -> ServerStatus {
        let now = Instant::now();
        let state = match &*self.phase.borrow() {
            _ if self.config.disabled => ServerState::Disabled,
            ServerPhase::Idle => ServerState::NotStarted,
            ServerPhase::Starting(since) => ServerState::Starting {
                since: now - *since,
            },
            ServerPhase::Ready(connection) => ServerState::Ready {
                pid: connection.pid,
                tools: self.tools().tools.len(),
                era: connection.era,
                since: now - connection.since,
            },
            ServerPhase::BackingOff { until, failure, .. } => ServerState::BackingOff {
                retry_in: until.saturating_duration_since(now),
                failure: failure.clone(),
            },
        };
        ServerStatus {
            server: self.name().clone(),
            state,
        }
    }
}
