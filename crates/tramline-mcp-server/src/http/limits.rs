//! Limits on HTTP clients: sizes, counts and times.

use std::time::Duration;

/// Time limit for the head of a request: a slow connection needs a second.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// Time limit for a request body, plus one second for every [`BODY_RATE_MIN`] bytes received.
const BODY_MAX: Duration = Duration::from_secs(30);

/// Minimum transfer rate of a large body, in bytes per second.
pub(super) const BODY_RATE_MIN: u64 = 64 << 10;

/// Idle timeout of a connection: longer than clients pause between calls, short enough to remove abandoned
/// ones.
const IDLE_MAX: Duration = Duration::from_secs(75);

/// How long a client may stop reading its response before it is disconnected.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// How long running requests may take after the server stops. Calls are answered at once then, so this is for
/// clients that send or read slowly.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Maximum number of open connections: one stream per session and as many for calls.
const CONNECTIONS_MAX: usize = 2_048;

/// Maximum number of open sessions (older protocol versions); each takes about 60 kB.
const SESSIONS_MAX: usize = 1_024;

/// Maximum number of open sessions per caller.
const SESSIONS_PER_CALLER_MAX: usize = 64;

/// Idle timeout of a session, even while a call runs: longer than people take to answer, short enough to remove
/// abandoned ones.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of all request bodies that are being received or processed: one of the largest, and many usual ones. Parsed, they take
/// several times as much memory.
const BODIES_BYTES_MAX: u64 = 96 << 20;

/// Limits on HTTP clients.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Time limit for the head of a request.
    pub head: Duration,
    /// Time limit for a request body at the minimum transfer rate.
    pub body: Duration,
    /// Idle timeout of a connection.
    pub idle: Duration,
    /// How long a client may stop reading its response.
    pub write: Duration,
    /// How long running requests may take after the server stops.
    pub drain: Duration,
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of open sessions.
    pub sessions: usize,
    /// Maximum number of open sessions per caller.
    pub sessions_per_caller: usize,
    /// Idle timeout of a session.
    pub session_idle: Duration,
    /// Bytes of all request bodies that are being received or processed.
    pub bodies_bytes: u64,
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
            bodies_bytes: BODIES_BYTES_MAX,
        }
    }
}

/// Maximum number of connections for a process with this many file descriptors: a quarter is reserved for files
/// and downstream servers.
fn connections_max(descriptors: Option<u64>) -> usize {
    let most = descriptors.map_or(u64::MAX, |all| all - all / 4);
    usize::try_from(most).map_or(CONNECTIONS_MAX, |most| most.clamp(1, CONNECTIONS_MAX))
}

/// The process's file descriptor limit, if known.
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
