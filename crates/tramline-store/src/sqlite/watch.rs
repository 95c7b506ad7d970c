//! Tells listeners that the database changed, also when another process changed it.

use super::desk::Desks;
use rusqlite::Connection;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::watch;

/// How often other processes' commits are looked for while somebody listens: people do not
/// notice it, and a look costs microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The count of changes that listeners watch.
#[derive(Debug)]
pub(super) struct Ticks {
    count: watch::Sender<u64>,
    look: Mutex<Look>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Look {
    thread: Option<JoinHandle<()>>,
    /// Whether the thread still looks; it stops by itself when nobody listens.
    going: bool,
    closing: bool,
}

impl Ticks {
    /// A count that nobody watches yet.
    pub(super) fn new() -> Self {
        Self {
            count: watch::Sender::new(0),
            look: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// Tells of a change.
    pub(super) fn tick(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Listens to this store's own changes and, on a disk, to those of other processes.
    pub(super) fn listen(self: &Arc<Self>, desks: &Arc<Desks>) -> watch::Receiver<u64> {
        // Before the lock: the thread counts listeners under it before it stops.
        let listener = self.count.subscribe();
        let mut look = self.lock();
        if desks.place.dir().is_some() && !look.going {
            let (ticks, desks) = (Arc::clone(self), Arc::clone(desks));
            let spawned = thread::Builder::new()
                .name("tramline-watch".into())
                .spawn(move || ticks.look_out(&desks));
            // Without the thread own changes are still told, and reads see the others'.
            look.going = spawned.is_ok();
            look.thread = spawned.ok();
        }
        listener
    }

    /// Ends the thread that looks for changes.
    pub(super) fn close(&self) {
        let thread = {
            let mut look = self.lock();
            look.closing = true;
            self.wake.notify_all();
            look.thread.take()
        };
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn look_out(&self, desks: &Desks) {
        let mut conn = None;
        let mut seen = None;
        let mut look = self.lock();
        while !look.closing && self.count.receiver_count() > 0 {
            drop(look);
            let now = version(desks, &mut conn);
            // The first look also ticks: something may have changed since the listener came.
            if now.is_some() && now != seen {
                seen = now;
                self.tick();
            }
            look = self
                .wake
                .wait_timeout(self.lock(), LOOK_EVERY)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        look.going = false;
    }

    fn lock(&self) -> MutexGuard<'_, Look> {
        self.look.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that changes with every commit another connection makes. None while the database
/// cannot be read: reads say why, a look only tries again.
fn version(desks: &Desks, conn: &mut Option<Connection>) -> Option<i64> {
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
    use tramline_engine::seams::Store;

    #[test]
    fn nobody_looks_when_nobody_listens() {
        let dir = tempfile::tempdir().unwrap();
        let store = Sqlite::open(dir.path()).unwrap();
        let first = store.changes();
        let second = store.changes();
        assert!(store.ticks.lock().going);
        drop(first);
        std::thread::sleep(2 * super::LOOK_EVERY);
        assert!(store.ticks.lock().going, "one still listens");
        drop(second);
        let start = Instant::now();
        while store.ticks.lock().going {
            assert!(start.elapsed().as_secs() < 10);
            std::thread::yield_now();
        }
    }
}
