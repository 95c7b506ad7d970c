//! Notifies subscribers of changes in the database, including those of other processes.

use super::connections::Connections;
use rusqlite::Connection;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::watch;

/// How often commits of other processes are polled while there are subscribers: people do not
/// notice it, and a poll costs microseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The change counter that subscribers watch.
#[derive(Debug)]
pub(super) struct ChangeSignal {
    count: watch::Sender<u64>,
    poll: Mutex<PollState>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct PollState {
    thread: Option<JoinHandle<()>>,
    /// Whether the thread is polling; it stops on its own without subscribers.
    is_polling: bool,
    is_closing: bool,
}

impl ChangeSignal {
    /// A counter without subscribers.
    pub(super) fn new() -> Self {
        Self {
            count: watch::Sender::new(0),
            poll: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// Notifies subscribers of a change.
    pub(super) fn notify(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Subscribes to this store's own changes and, on disk, to those of other processes.
    pub(super) fn subscribe(self: &Arc<Self>, desks: &Arc<Connections>) -> watch::Receiver<u64> {
        // Before the lock: the thread counts subscribers under it before it stops.
        let listener = self.count.subscribe();
        let mut look = self.lock();
        if desks.database.dir().is_some() && !look.is_polling {
            let (ticks, desks) = (Arc::clone(self), Arc::clone(desks));
            let spawned = thread::Builder::new()
                .name("tramline-watch".into())
                .spawn(move || ticks.poll_changes(&desks));
            // Without the thread, own changes are still reported, and reads see the others'.
            look.is_polling = spawned.is_ok();
            look.thread = spawned.ok();
        }
        listener
    }

    /// Ends the polling thread.
    pub(super) fn close(&self) {
        let thread = {
            let mut look = self.lock();
            look.is_closing = true;
            self.wake.notify_all();
            look.thread.take()
        };
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn poll_changes(&self, desks: &Connections) {
        let mut conn = None;
        let mut seen = None;
        let mut look = self.lock();
        while !look.is_closing && self.count.receiver_count() > 0 {
            drop(look);
            let now = version(desks, &mut conn);
            // The first poll also notifies: something may have changed since the subscriber
            // arrived.
            if now.is_some() && now != seen {
                seen = now;
                self.notify();
            }
            look = self
                .wake
                .wait_timeout(self.lock(), POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        look.is_polling = false;
    }

    fn lock(&self) -> MutexGuard<'_, PollState> {
        self.poll.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that changes with every commit of another connection. `None` while the database cannot
/// be read: reads report why, a poll only tries again.
fn version(desks: &Connections, conn: &mut Option<Connection>) -> Option<i64> {
    let open = match conn {
        Some(open) => open,
        None => conn.insert(desks.idle_or_new().ok()?),
    };
    open.prepare_cached("PRAGMA data_version")
        .and_then(|mut query| query.query_row([], |row| row.get(0)))
        .ok()
}

#[cfg(test)]
mod tests {
    use crate::Sqlite;
    use std::time::Instant;
    use tramline_engine::ports::JournalStore;

    #[test]
    fn nobody_looks_when_nobody_listens() {
        let dir = tempfile::tempdir().unwrap();
        let store = Sqlite::open(dir.path()).unwrap();
        let first = store.changes();
        let second = store.changes();
        assert!(store.changes.lock().is_polling);
        drop(first);
        std::thread::sleep(2 * super::POLL_INTERVAL);
        assert!(store.changes.lock().is_polling, "one subscriber is left");
        drop(second);
        let start = Instant::now();
        while store.changes.lock().is_polling {
            assert!(start.elapsed().as_secs() < 10);
            std::thread::yield_now();
        }
    }
}
