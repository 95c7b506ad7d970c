//! How much clients may hold, and for how long.

use std::time::Duration;

/// So long may a client take for the head of a request: a slow line needs a second.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// So long may a body take, and a second more for every [`BODY_RATE_MIN`] bytes that have come.
const BODY_MAX: Duration = Duration::from_secs(30);

/// The slowest line on which a large body is waited for, in bytes a second.
pub(super) const BODY_RATE_MIN: u64 = 64 << 10;

/// A connection without a request is closed after so long: longer than clients pause between calls,
/// short enough that forgotten ones go.
const IDLE_MAX: Duration = Duration::from_secs(75);

/// A client that takes nothing of its answer for so long is given up.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// Requests under way get so long when the server stops: calls are answered at once then, so this is
/// for what clients are slow to send or to take.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Connections that are open at the same time: one stream for each session and as many for calls.
const CONNECTIONS_MAX: usize = 2_048;

/// Sessions of older clients that are open at the same time; each holds some 60 kB.
const SESSIONS_MAX: usize = 1_024;

/// Sessions that one caller has open at the same time.
const SESSIONS_PER_CALLER_MAX: usize = 64;

/// A session of an older client ends after so long without a message, even while a call lasts:
/// longer than people take to answer, short enough that forgotten ones go.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How much clients may hold, and for how long.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// How long the head of a request may take.
    pub head: Duration,
    /// How long a body may take on a line that is not slow.
    pub body: Duration,
    /// How long a connection without a request stays open.
    pub idle: Duration,
    /// How long a client may take nothing of its answer.
    pub write: Duration,
    /// How long requests under way get when the server stops.
    pub drain: Duration,
    /// How many connections are open at the same time.
    pub connections: usize,
    /// How many sessions of older clients are open at the same time.
    pub sessions: usize,
    /// How many of them one caller has.
    pub sessions_per_caller: usize,
    /// How long a session lasts without a message.
    pub session_idle: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            head: HEAD_MAX,
            body: BODY_MAX,
            idle: IDLE_MAX,
            write: WRITE_MAX,
            drain: DRAIN_MAX,
            connections: connections_max(descriptors()),
            sessions: SESSIONS_MAX,
            sessions_per_caller: SESSIONS_PER_CALLER_MAX,
            session_idle: SESSION_IDLE_MAX,
        }
    }
}

/// How many connections may be open where the process has so many descriptors: a quarter is left for
/// files and downstream servers.
fn connections_max(descriptors: Option<u64>) -> usize {
    let most = descriptors.map_or(u64::MAX, |all| all - all / 4);
    usize::try_from(most).map_or(CONNECTIONS_MAX, |most| most.clamp(1, CONNECTIONS_MAX))
}

/// How many files and connections the process may have open, where the system tells.
fn descriptors() -> Option<u64> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit};
        getrlimit(Resource::RLIMIT_NOFILE)
            .ok()
            .map(|(soft, _)| soft)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_descriptors_are_left_for_files() {
        assert_eq!(connections_max(Some(256)), 192);
        assert_eq!(connections_max(Some(1 << 20)), CONNECTIONS_MAX);
        assert_eq!(connections_max(Some(u64::MAX)), CONNECTIONS_MAX);
        assert_eq!(connections_max(Some(1)), 1);
        assert_eq!(connections_max(None), CONNECTIONS_MAX);
    }
}
