//! The connections: one that writes, a few that read. In memory both are the same one.

use super::faults::{Trouble, plain_fault};
use super::place::Place;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use tokio::task;
use tramline_engine::seams::StoreFault;

/// Reads that go on at once. A read is short, and cores are few.
const READERS_MAX: usize = 4;

/// All connections of one store to its database.
#[derive(Debug)]
pub(super) struct Desks {
    /// What they are connected to.
    pub(super) place: Place,
    /// Opened by the first write; in memory it is there from the start and also reads.
    writing: Mutex<Option<Connection>>,
    /// Those not in use now.
    reading: Mutex<Vec<Connection>>,
    readers: Arc<Semaphore>,
}

impl Desks {
    /// Keeps the first connection for whoever needs one first.
    pub(super) fn new(place: Place, first: Connection) -> Self {
        let (writing, reading) = match place.dir() {
            Some(_) => (None, vec![first]),
            None => (Some(first), Vec::new()),
        };
        Self {
            place,
            writing: Mutex::new(writing),
            reading: Mutex::new(reading),
            readers: Arc::new(Semaphore::new(READERS_MAX)),
        }
    }

    /// Works on the connection that writes. Only who writes comes here for long.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, StoreFault> {
        if let Some(refusal) = self.place.refusal() {
            return Err(refusal);
        }
        let mut desk = lock(&self.writing);
        let conn = match &mut *desk {
            Some(conn) => conn,
            None => {
                let conn = self.idle_or_new()?;
                Place::prepare_writer(&conn).map_err(|error| self.told(&error.into()))?;
                desk.insert(conn)
            }
        };
        let result = work(conn);
        if !conn.is_autocommit() && self.place.dir().is_some() {
            // What failed could not even be undone. Closing does it, and the next opens anew.
            *desk = None;
        }
        result.map_err(|trouble| self.told(&trouble))
    }

    /// Works on a connection that reads, off the async threads.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let stopped = || plain_fault("the store was closed while it was read");
        let readers = Arc::clone(&self.readers);
        let turn = readers.acquire_owned().await.map_err(|_| stopped())?;
        let desks = Arc::clone(self);
        let read = task::spawn_blocking(move || {
            let result = desks.read_here(work);
            // Not before: a caller that stops waiting does not stop the read.
            drop(turn);
            result
        });
        read.await.map_err(|_| stopped())?
    }

    /// Works on a connection that reads, on this thread.
    pub(super) fn read_here<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, StoreFault> {
        if self.place.dir().is_none() {
            return self.write(work);
        }
        let conn = self.idle_or_new()?;
        let result = snapshot(&conn, work).map_err(|trouble| self.told(&trouble));
        // One that failed may be in any state: it is closed instead.
        if result.is_ok() {
            lock(&self.reading).push(conn);
        }
        result
    }

    /// Looks at everything as it was at one moment, on a connection that is closed afterwards. The look
    /// gives what it found even where the database is so damaged that nothing can be finished.
    pub(super) fn look_apart<T>(
        &self,
        look: impl FnOnce(&Connection) -> T,
    ) -> Result<T, StoreFault> {
        if self.place.dir().is_none() {
            return self.write(|conn| Ok(look(conn)));
        }
        let conn = self.place.connect()?;
        // Without it, what is written meanwhile may look like damage.
        conn.execute_batch("BEGIN")
            .map_err(|error| self.told(&error.into()))?;
        Ok(look(&conn))
    }

    /// A connection for a thread of its own.
    pub(super) fn idle_or_new(&self) -> Result<Connection, StoreFault> {
        let idle = lock(&self.reading).pop();
        match idle {
            Some(conn) => Ok(conn),
            None => self.place.connect(),
        }
    }

    fn told(&self, trouble: &Trouble) -> StoreFault {
        trouble.told(&self.place)
    }
}

/// Lets all statements of one read see the same state.
fn snapshot<T>(
    conn: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    let value = work(conn)?;
    conn.prepare_cached("COMMIT")?.execute([])?;
    Ok(value)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
