//! The one thread that writes: it takes all that waits and makes it durable with one disk sync.
//!
//! Nothing is delayed to make a group larger: while one group is being synced, the next gathers.

use super::desk::Desks;
use super::documents;
use super::faults::{Trouble, plain_fault};
use super::place::Place;
use super::watch::Ticks;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tramline_engine::seams::StoreFault;

/// Work that waits for the writer; who brings more waits outside.
const QUEUE_JOBS_MAX: usize = 4_096;

/// Bytes that wait for the writer, in KiB: a bound on memory, well above the largest group.
const QUEUE_KIB_MAX: u32 = 64 * 1024;

/// Jobs in one group: beyond this one disk sync is already shared by so many that it costs nothing.
const GROUP_JOBS_MAX: usize = 1_024;

/// Bytes in one group, so that nobody waits long for a large neighbour.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What was answered before it was synced is synced after so long at the latest.
const SYNC_WITHIN: Duration = Duration::from_millis(50);

/// Whether work must survive a power cut once it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// It must: a disk sync before the answer.
    Durable,
    /// It must soon after: the answer waits only until the operating system has it.
    Soon,
    /// It means nothing once the processes of today are gone: no sync of its own.
    Passing,
}

/// Sends work to the writer's thread, which starts with the first of it.
#[derive(Debug)]
pub(super) struct Writer {
    desks: Arc<Desks>,
    ticks: Arc<Ticks>,
    room: Arc<Semaphore>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    queue: mpsc::Sender<Queued>,
    thread: JoinHandle<()>,
}

struct Queued {
    job: Box<dyn Job>,
    bytes: usize,
    care: Care,
    /// Its share of the bytes that may wait; given back when the job is answered.
    _room: OwnedSemaphorePermit,
}

/// Work in a group. If any job of a group fails, all of it is undone.
trait Job: Send {
    fn run(&mut self, conn: &Connection) -> Result<(), Trouble>;
    fn answer(self: Box<Self>, end: &Result<(), StoreFault>);
}

struct Task<T, W> {
    work: Option<W>,
    value: Option<T>,
    asker: oneshot::Sender<Result<T, StoreFault>>,
}

impl<T, W> Job for Task<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, Trouble> + Send,
{
    fn run(&mut self, conn: &Connection) -> Result<(), Trouble> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(conn)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, end: &Result<(), StoreFault>) {
        let answer = match (end, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(stopped()),
            (Err(fault), _) => Err(fault.clone()),
        };
        // The asker may have gone; its work is done all the same.
        let _ = self.asker.send(answer);
    }
}

impl Writer {
    /// A writer whose thread has not started.
    pub(super) fn new(desks: Arc<Desks>, ticks: Arc<Ticks>) -> Self {
        Self {
            desks,
            ticks,
            room: Arc::new(Semaphore::new(QUEUE_KIB_MAX as usize)),
            running: Mutex::new(None),
        }
    }

    /// Has the work done within a group; gives its value once the group is committed.
    ///
    /// Work that was queued is done even if nobody waits for it any more.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        bytes: usize,
        care: Care,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let kib = u32::try_from(bytes / 1024).map_or(QUEUE_KIB_MAX, |kib| kib.min(QUEUE_KIB_MAX));
        let room = Arc::clone(&self.room).acquire_many_owned(kib).await;
        let (asker, answer) = oneshot::channel();
        let queued = Queued {
            job: Box::new(Task {
                work: Some(work),
                value: None,
                asker,
            }),
            bytes,
            care,
            _room: room.map_err(|_| stopped())?,
        };
        let queue = self.queue()?;
        queue.send(queued).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    fn queue(&self) -> Result<mpsc::Sender<Queued>, StoreFault> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok(running.queue.clone());
        }
        let (queue, waiting) = mpsc::channel(QUEUE_JOBS_MAX);
        let (desks, ticks) = (Arc::clone(&self.desks), Arc::clone(&self.ticks));
        let thread = thread::Builder::new()
            .name("tramline-writer".into())
            .spawn(move || write_groups(&desks, &ticks, waiting))
            .map_err(|error| {
                plain_fault(format!(
                    "cannot start the store's writing thread: {error}. Raise the limit on \
                     processes, or end some"
                ))
            })?;
        *running = Some(Running {
            queue: queue.clone(),
            thread,
        });
        Ok(queue)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let running = self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Running { queue, thread }) = running {
            // With its last sender gone the thread finishes what is queued and ends.
            drop(queue);
            let _ = thread.join();
        }
    }
}

fn stopped() -> StoreFault {
    plain_fault("the store's writing thread has stopped. Start Tramline again")
}

fn write_groups(desks: &Desks, ticks: &Ticks, mut waiting: mpsc::Receiver<Queued>) {
    let mut synced = true;
    let mut group = Vec::new();
    let mut owed = Owed::default();
    loop {
        match owed.next(&mut waiting) {
            Next::Over => break,
            Next::Due => {}
            Next::Job(first) => gather(*first, &mut waiting, &mut group),
        }
        let has = |care| group.iter().any(|queued: &Queued| queued.care == care);
        let (durable, soon, due) = (has(Care::Durable), has(Care::Soon), owed.is_due());
        let end = desks.write(|conn| {
            set_sync(conn, durable || due, &mut synced)?;
            commit(conn, &mut group, due)
        });
        owed.settle(durable || due, soon, end.is_ok());
        if (durable || soon) && end.is_ok() {
            ticks.tick();
        }
        for queued in group.drain(..) {
            queued.job.answer(&end);
        }
    }
    // A log that stays is no harm: the next to open the database reads it.
    let _ = desks.write(|conn| Ok(Place::put_away(conn)?));
}

/// What the writer does next.
enum Next {
    /// This, and what waits with it.
    Job(Box<Queued>),
    /// A sync that is owed.
    Due,
    /// Nothing more comes.
    Over,
}

/// The sync that is owed to work which was answered before it.
#[derive(Default)]
struct Owed {
    since: Option<Instant>,
    /// Wakes the writer when a sync is due; made with the first one that is owed.
    clock: Option<Runtime>,
    /// Whether nobody brings work any more. What is owed then is tried once.
    is_closing: bool,
}

impl Owed {
    fn is_due(&self) -> bool {
        self.since
            .is_some_and(|since| since.elapsed() >= SYNC_WITHIN)
    }

    /// Waits for work, or until a sync is due.
    fn next(&mut self, waiting: &mut mpsc::Receiver<Queued>) -> Next {
        let Some(since) = self.since else {
            return match waiting.blocking_recv() {
                Some(first) => Next::Job(Box::new(first)),
                None => Next::Over,
            };
        };
        if self.clock.is_none() {
            let clock = Builder::new_current_thread().enable_time().build();
            self.clock = clock.ok();
        }
        let Some(clock) = &self.clock else {
            // Without a clock nothing is owed for long.
            thread::sleep(SYNC_WITHIN.saturating_sub(since.elapsed()));
            return Next::Due;
        };
        let due = tokio::time::Instant::from_std(since + SYNC_WITHIN);
        let next = clock.block_on(async { tokio::time::timeout_at(due, waiting.recv()).await });
        match next {
            Ok(Some(first)) => Next::Job(Box::new(first)),
            Ok(None) if self.is_closing => Next::Over,
            Ok(None) => {
                self.is_closing = true;
                thread::sleep(SYNC_WITHIN.saturating_sub(since.elapsed()));
                Next::Due
            }
            Err(_) => Next::Due,
        }
    }

    /// Notes what a group came to.
    fn settle(&mut self, was_synced: bool, had_soon: bool, is_done: bool) {
        if was_synced && is_done {
            self.since = None;
        } else if had_soon && is_done && self.since.is_none() {
            self.since = Some(Instant::now());
        } else if was_synced {
            // The disk is in trouble: the sync is tried again, and not in a tight circle.
            self.since = self.since.map(|_| Instant::now());
        }
    }
}

fn gather(first: Queued, waiting: &mut mpsc::Receiver<Queued>, group: &mut Vec<Queued>) {
    let mut bytes = first.bytes;
    group.push(first);
    while group.len() < GROUP_JOBS_MAX && bytes < GROUP_BYTES_MAX {
        let Ok(next) = waiting.try_recv() else {
            return;
        };
        bytes += next.bytes;
        group.push(next);
    }
}

/// A group of passing work skips its disk sync; the next durable group's sync covers it.
fn set_sync(conn: &Connection, wanted: bool, is: &mut bool) -> Result<(), Trouble> {
    if wanted != *is {
        let level = if wanted { "FULL" } else { "NORMAL" };
        conn.pragma_update(None, "synchronous", level)?;
        *is = wanted;
    }
    Ok(())
}

fn commit(conn: &Connection, group: &mut [Queued], is_owed: bool) -> Result<(), Trouble> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = group
        .iter_mut()
        .try_for_each(|queued| queued.job.run(conn))
        // A commit that changes nothing is not synced.
        .and_then(|()| match is_owed {
            true => documents::put(conn, "writer", "synced", &[]),
            false => Ok(()),
        })
        .and_then(|()| Ok(conn.prepare_cached("COMMIT")?.execute([])?));
    match done {
        Ok(_) => Ok(()),
        Err(trouble) => {
            if !conn.is_autocommit() {
                conn.execute_batch("ROLLBACK")?;
            }
            Err(trouble)
        }
    }
}
