//! Who writes: whoever comes alone, and one thread for all that come together, with one disk sync.
//!
//! Nothing is delayed to make a group larger: while one group is being synced, the next gathers.
//! Work that finds nobody else is done where it is brought: handing it over and back would take about
//! as long as the sync itself.

use super::desk::Desks;
use super::faults::{Trouble, plain_fault};
use super::place::{Place, impatient};
use super::watch::Ticks;
use crowd::Crowd;
use room::Room;
use rusqlite::{Connection, ErrorCode};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tramline_engine::seams::StoreFault;

mod crowd;
mod owed;
mod room;

/// Work that waits for the writer; who brings more waits outside.
const QUEUE_JOBS_MAX: usize = 4_096;

/// Bytes that wait for the writer, in KiB: a bound on memory, well above the largest group.
const QUEUE_KIB_MAX: u32 = 64 * 1024;

/// Jobs in one group: beyond this one disk sync is already shared by so many that it costs nothing.
const GROUP_JOBS_MAX: usize = 1_024;

/// Bytes in one group, so that nobody waits long for a large neighbour.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Larger work is never done where it is brought: others wait for that thread.
const HERE_BYTES_MAX: usize = 64 * 1024;

/// Nor is any while the disk takes longer for a sync, in microseconds: handing over is then cheap
/// beside it, and a thread that answers others would stand still.
const HERE_SYNC_US_MAX: u64 = 1_000;

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
    pen: Arc<Pen>,
    room: Arc<Semaphore>,
    running: Mutex<Option<Running>>,
}

/// What writing needs, on whichever thread.
#[derive(Debug)]
struct Pen {
    desks: Arc<Desks>,
    ticks: Arc<Ticks>,
    /// Jobs that are not answered yet.
    open: AtomicUsize,
    crowd: Crowd,
    /// How long one job alone took of late, in microseconds, if it was durable.
    sync_us: AtomicU64,
    /// Whether the connection syncs as it commits; changed only by who writes.
    syncs: AtomicBool,
    /// Room in the log; changed only by who writes.
    room: Mutex<Room>,
    /// Whether anything was written at all.
    wrote: AtomicBool,
    /// Whether something was answered that is not synced yet.
    owed: AtomicBool,
    /// Whether somebody will see to that in a moment.
    pays: AtomicBool,
}

/// A job that is not answered yet.
#[derive(Debug)]
struct Open(Arc<Pen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
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
    open: Open,
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
            pen: Arc::new(Pen::new(desks, ticks)),
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
        let (open, alone) = self.pen.opened();
        let queued = Queued {
            job: Box::new(Task {
                work: Some(work),
                value: None,
                asker,
            }),
            bytes,
            care,
            _room: room.map_err(|_| stopped())?,
            open,
        };
        let mut group = vec![queued];
        if alone && self.pen.writes_here(bytes) {
            self.pen.write(&mut group, Patience::No);
        }
        for queued in group {
            let queue = self.queue()?;
            queue.send(queued).await.map_err(|_| stopped())?;
        }
        let answer = answer.await.map_err(|_| stopped())?;
        if care == Care::Soon {
            self.pen.pay_soon();
        }
        answer
    }

    fn queue(&self) -> Result<mpsc::Sender<Queued>, StoreFault> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok(running.queue.clone());
        }
        let (queue, waiting) = mpsc::channel(QUEUE_JOBS_MAX);
        let pen = Arc::clone(&self.pen);
        let thread = thread::Builder::new()
            .name("tramline-writer".into())
            .spawn(move || write_groups(&pen, waiting))
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
        self.pen.pay();
        if self.pen.wrote.load(Ordering::Relaxed) {
            // A log that stays is no harm: the next to open the database reads it.
            let _ = self.pen.desks.write(|conn| Ok(Place::put_away(conn)?));
        }
    }
}

fn stopped() -> StoreFault {
    plain_fault("the store's writing thread has stopped. Start Tramline again")
}

fn write_groups(pen: &Pen, mut waiting: mpsc::Receiver<Queued>) {
    let mut group = Vec::new();
    while let Some(first) = waiting.blocking_recv() {
        gather(first, &mut waiting, &mut group);
        pen.write(&mut group, Patience::Yes);
    }
}

impl Pen {
    fn new(desks: Arc<Desks>, ticks: Arc<Ticks>) -> Self {
        Self {
            desks,
            ticks,
            open: AtomicUsize::new(0),
            crowd: Crowd::default(),
            sync_us: AtomicU64::new(0),
            syncs: AtomicBool::new(true),
            room: Mutex::default(),
            wrote: AtomicBool::new(false),
            owed: AtomicBool::new(false),
            pays: AtomicBool::new(false),
        }
    }

    /// Counts a job, and tells whether it is the only one.
    fn opened(self: &Arc<Self>) -> (Open, bool) {
        let before = self.open.fetch_add(1, Ordering::AcqRel);
        (Open(Arc::clone(self)), before == 0)
    }

    /// Whether a job that came alone is done where it was brought.
    fn writes_here(&self, bytes: usize) -> bool {
        bytes <= HERE_BYTES_MAX
            && self.sync_us.load(Ordering::Relaxed) <= HERE_SYNC_US_MAX
            && self.crowd.lets_alone()
    }

    /// Commits a group and answers everyone in it. It stays as it is if another process writes and
    /// this thread may not wait for it.
    fn write(&self, group: &mut Vec<Queued>, patience: Patience) {
        let has = |care| group.iter().any(|queued: &Queued| queued.care == care);
        let (durable, soon) = (has(Care::Durable), has(Care::Soon));
        let end = self.desks.write(|conn| {
            // Not before: the connection may have been in use.
            let since = Instant::now();
            self.set_sync(conn, durable)?;
            if !begin(conn, patience)? {
                return Ok(false);
            }
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            if durable {
                room.before(conn);
            }
            commit(conn, group)?;
            if durable {
                room.after();
            }
            if durable || soon {
                // A sync covers all that was written before it.
                self.owed.store(!durable, Ordering::Release);
            }
            if durable && group.len() == 1 {
                self.took(since.elapsed().as_micros());
            }
            Ok(true)
        });
        if let Ok(false) = end {
            return;
        }
        let end = end.map(|_| ());
        self.crowd.wrote(group.len());
        self.wrote.store(true, Ordering::Relaxed);
        if (durable || soon) && end.is_ok() {
            self.ticks.tick();
        }
        for queued in group.drain(..) {
            let Queued { job, open, .. } = queued;
            // Before the answer: who hears it may bring more, and is alone again.
            drop(open);
            job.answer(&end);
        }
    }

    /// One slow sync among quick ones changes little, a slow disk all.
    fn took(&self, us: u128) {
        let us = u64::try_from(us)
            .unwrap_or(u64::MAX)
            .min(HERE_SYNC_US_MAX * 16);
        let before = self.sync_us.load(Ordering::Relaxed);
        self.sync_us.store((before * 7 + us) / 8, Ordering::Relaxed);
    }

    /// A group of passing work skips its disk sync; the next durable group's sync covers it.
    fn set_sync(&self, conn: &Connection, wanted: bool) -> Result<(), Trouble> {
        if wanted != self.syncs.load(Ordering::Relaxed) {
            let level = if wanted { "FULL" } else { "NORMAL" };
            conn.pragma_update(None, "synchronous", level)?;
            self.syncs.store(wanted, Ordering::Relaxed);
        }
        Ok(())
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

/// Whether a thread may wait while another process writes.
#[derive(Clone, Copy)]
enum Patience {
    Yes,
    No,
}

/// Whether a group may begin; not if another process writes and this thread may not wait for it.
fn begin(conn: &Connection, patience: Patience) -> Result<bool, Trouble> {
    let mut begin = conn.prepare_cached("BEGIN IMMEDIATE")?;
    let begun = match patience {
        Patience::Yes => begin.execute([]),
        Patience::No => match impatient(|| begin.execute([])) {
            Err(error) if is_busy(&error) => return Ok(false),
            begun => begun,
        },
    };
    Ok(begun.map(|_| true)?)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn commit(conn: &Connection, group: &mut [Queued]) -> Result<(), Trouble> {
    let done = group.iter_mut().try_for_each(|queued| queued.job.run(conn));
    ended(conn, done)
}

/// Commits what was done, or takes it back.
fn ended(conn: &Connection, done: Result<(), Trouble>) -> Result<(), Trouble> {
    match done.and_then(|()| Ok(conn.prepare_cached("COMMIT")?.execute([])?)) {
        Ok(_) => Ok(()),
        Err(trouble) => {
            if !conn.is_autocommit() {
                conn.execute_batch("ROLLBACK")?;
            }
            Err(trouble)
        }
    }
}
