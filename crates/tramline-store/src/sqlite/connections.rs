//! The connections: one that writes, a few that read. In memory, one connection does both.

use super::database::Database;
use super::error::{DbError, plain_fault};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{self, JoinHandle};
use tramline_engine::ports::StoreFault;

/// The maximum number of concurrent reads. Reads are short, and cores are few.
const READERS_MAX: usize = 4;

/// All connections of one store to its database.
#[derive(Debug)]
pub(super) struct Connections {
    /// The database they are connected to.
    pub(super) database: Database,
    /// Opened by the first write; in memory it exists from the start and also reads.
    writer: Mutex<Option<Connection>>,
    /// The idle ones.
    idle_readers: Mutex<Vec<Connection>>,
    reader_slots: Arc<Semaphore>,
}

impl Connections {
    /// Keeps the first connection for its first user.
    pub(super) fn new(database: Database, first: Connection) -> Self {
        let (writing, reading) = match database.dir() {
            Some(_) => (None, vec![first]),
            None => (Some(first), Vec::new()),
        };
        Self {
            database,
            writer: Mutex::new(writing),
            idle_readers: Mutex::new(reading),
            reader_slots: Arc::new(Semaphore::new(READERS_MAX)),
        }
    }

    /// Runs `work` on the writing connection. Only writers hold it for long.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreFault> {
        if let Some(refusal) = self.database.read_only_fault() {
            return Err(refusal);
        }
        let mut desk = lock(&self.writer);
        let conn = match &mut *desk {
            Some(conn) => conn,
            None => {
                let conn = self.idle_or_new()?;
                Database::prepare_writer(&conn).map_err(|error| self.to_fault(&error.into()))?;
                desk.insert(conn)
            }
        };
        let result = work(conn);
        if !conn.is_autocommit() && self.database.dir().is_some() {
            // The failure could not even be rolled back. Closing does that, and the next use
            // reopens.
            *desk = None;
        }
        result.map_err(|trouble| self.to_fault(&trouble))
    }

    /// Runs `work` on a reading connection, off the async threads.
    ///
    /// A read that waits for a slot does so in its own task: the slot is granted in order, and a
    /// caller that is not polled at that moment would keep it from all others.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let slots = Arc::clone(&self.reader_slots);
        let this = Arc::clone(self);
        let start = move |slot: OwnedSemaphorePermit| {
            task::spawn_blocking(move || {
                let result = this.read_blocking(work);
                // Released only here: a caller that stops waiting does not stop the read.
                drop(slot);
                result
            })
        };
        let result = match Arc::clone(&slots).try_acquire_owned() {
            Ok(slot) => start(slot).await,
            Err(_) => {
                let mut waiting = AbortOnDrop(task::spawn(async move {
                    match slots.acquire_owned().await {
                        Ok(slot) => start(slot).await,
                        Err(_) => Ok(Err(closed_fault())),
                    }
                }));
                (&mut waiting.0).await.and_then(|result| result)
            }
        };
        result.map_err(|_| closed_fault())?
    }

    /// Runs `work` on a reading connection, on this thread.
    pub(super) fn read_blocking<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreFault> {
        if self.database.dir().is_none() {
            return self.write(work);
        }
        let conn = self.idle_or_new()?;
        let result = snapshot(&conn, work).map_err(|trouble| self.to_fault(&trouble));
        // A connection that failed may be in any state: close it.
        if result.is_ok() {
            lock(&self.idle_readers).push(conn);
        }
        result
    }

    /// Inspects a consistent snapshot on a connection that is closed afterwards. Returns the result
    /// even if the database is too damaged to end the transaction.
    pub(super) fn inspect_snapshot<T>(
        &self,
        look: impl FnOnce(&Connection) -> T,
    ) -> Result<T, StoreFault> {
        if self.database.dir().is_none() {
            return self.write(|conn| Ok(look(conn)));
        }
        let conn = self.database.connect()?;
        // Without the snapshot, concurrent writes could look like damage.
        conn.execute_batch("BEGIN")
            .map_err(|error| self.to_fault(&error.into()))?;
        Ok(look(&conn))
    }

    /// A connection for a dedicated thread.
    pub(super) fn idle_or_new(&self) -> Result<Connection, StoreFault> {
        let idle = lock(&self.idle_readers).pop();
        match idle {
            Some(conn) => Ok(conn),
            None => self.database.connect(),
        }
    }

    fn to_fault(&self, trouble: &DbError) -> StoreFault {
        trouble.to_fault(&self.database)
    }
}

/// Makes all statements of one read see the same state.
fn snapshot<T>(
    conn: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, DbError>,
) -> Result<T, DbError> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    let value = work(conn)?;
    conn.prepare_cached("COMMIT")?.execute([])?;
    Ok(value)
}

/// A task that ends with its caller.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn closed_fault() -> StoreFault {
    plain_fault("the store was closed while it was read")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::task::{Context, Waker};
    use std::time::Duration;
    use tempfile::tempdir;

    /// More than a read takes.
    const SOON: Duration = Duration::from_secs(20);

    fn connections(dir: &std::path::Path) -> Arc<Connections> {
        let opened = Database::disk(dir).open().unwrap();
        Arc::new(Connections::new(opened.database, opened.conn))
    }

    #[tokio::test]
    async fn a_read_that_is_not_polled_holds_up_no_other() {
        let dir = tempdir().unwrap();
        let connections = connections(dir.path());
        // All slots are taken by reads that last until they are released.
        let mut running = Vec::new();
        let mut releases = Vec::new();
        for _ in 0..READERS_MAX {
            let (release, released) = mpsc::channel::<()>();
            let held = Arc::clone(&connections);
            let read = async move { held.read(move |_| Ok(released.recv().is_ok())).await };
            running.push(tokio::spawn(read));
            releases.push(release);
        }
        while connections.reader_slots.available_permits() > 0 {
            task::yield_now().await;
        }
        // As many wait behind them, are polled once, and then left alone.
        let mut left: Vec<_> = (0..READERS_MAX)
            .map(|_| Box::pin(connections.read(|_| Ok(()))))
            .collect();
        for read in &mut left {
            let polled = read.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        for release in releases {
            release.send(()).unwrap();
        }
        for read in running {
            assert!(read.await.unwrap().unwrap());
        }
        let next = tokio::time::timeout(SOON, connections.read(|_| Ok(7))).await;
        let next = next.expect("reads that nobody polls hold all slots");
        assert_eq!(next.unwrap(), 7);
        for read in left {
            read.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_read_that_was_given_up_while_it_waited_is_not_made() {
        let dir = tempdir().unwrap();
        let connections = connections(dir.path());
        let all = Arc::clone(&connections.reader_slots);
        let all = all.acquire_many_owned(READERS_MAX as u32).await.unwrap();
        let (made, was_made) = mpsc::channel::<()>();
        let mut given_up = Box::pin(connections.read(move |_| Ok(made.send(()).is_ok())));
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(given_up.as_mut().poll(&mut nobody).is_pending());
        drop(given_up);
        drop(all);
        connections.read(|_| Ok(())).await.unwrap();
        assert_eq!(was_made.recv(), Err(mpsc::RecvError));
    }
}
