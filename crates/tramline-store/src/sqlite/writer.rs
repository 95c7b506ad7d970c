//! The writer: a lone job writes on its caller's thread; concurrent jobs form a group on one
//! thread, with one disk sync.
//!
//! Nothing is delayed to make a group larger: while one group is being synced, the next gathers. A
//! lone job is done on its caller's thread because handing it over and back would take about as
//! long as the sync itself.

use super::change_poll::ChangeSignal;
use super::connections::Connections;
use super::database::{Database, without_waiting};
use super::error::{DbError, plain_fault};
use contention::Contention;
use rusqlite::{Connection, ErrorCode};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tramline_engine::ports::StoreFault;
use wal_prealloc::WalPrealloc;

mod contention;
mod deferred_sync;
mod wal_prealloc;

/// The maximum number of queued jobs; further callers wait.
const QUEUE_JOBS_MAX: usize = 4_096;

/// The maximum size of queued jobs, in KiB: bounds memory, well above the largest group.
const QUEUE_KIB_MAX: u32 = 64 * 1024;

/// The maximum number of jobs in a group: beyond this the cost of a sync per job is negligible.
const GROUP_JOBS_MAX: usize = 1_024;

/// The maximum size of a group in bytes, so that small jobs do not wait long for large ones.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Larger jobs, in bytes, always go to the writer thread: the caller's thread serves others.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// While a sync takes longer than this, in microseconds, all jobs go to the writer thread: handing
/// over is cheap in comparison, and the caller's thread would block.
const INLINE_SYNC_US_MAX: u64 = 1_000;

/// The durability of a job when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// It survives a power loss: synced before the answer.
    Durable,
    /// It survives a power loss soon after: the answer only waits for the operating system.
    SyncSoon,
    /// It matters only to processes that are running now: no sync of its own.
    Volatile,
}

/// Sends jobs to the writer thread, which starts with the first one.
#[derive(Debug)]
pub(super) struct Writer {
    group_commit: Arc<GroupCommit>,
    queue_bytes: Arc<Semaphore>,
    running: Mutex<Option<WriterThread>>,
}

/// The state of writing, on whichever thread.
#[derive(Debug)]
struct GroupCommit {
    connections: Arc<Connections>,
    changes: Arc<ChangeSignal>,
    /// The number of unanswered jobs.
    open_jobs: AtomicUsize,
    contention: Contention,
    /// The recent time of a lone durable job, in microseconds.
    sync_us: AtomicU64,
    /// Whether the connection syncs on commit; only changed by the current writer.
    syncs_on_commit: AtomicBool,
    /// Preallocation of the log; only changed by the current writer.
    prealloc: Mutex<WalPrealloc>,
    /// Whether anything was written.
    has_written: AtomicBool,
    /// Whether an answered job is not synced yet.
    sync_pending: AtomicBool,
    /// Whether a deferred sync is scheduled.
    sync_scheduled: AtomicBool,
}

/// An unanswered job.
#[derive(Debug)]
struct OpenJob(Arc<GroupCommit>);

impl Drop for OpenJob {
    fn drop(&mut self) {
        self.0.open_jobs.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Debug)]
struct WriterThread {
    queue: mpsc::Sender<QueuedJob>,
    thread: JoinHandle<()>,
}

struct QueuedJob {
    job: Box<dyn Job>,
    bytes: usize,
    durability: Durability,
    /// Its share of the queue's bytes; released when the job is answered.
    _queue_bytes: OwnedSemaphorePermit,
    open: OpenJob,
}

/// A job in a group. If any job of a group fails, the whole group is rolled back.
trait Job: Send {
    fn run(&mut self, conn: &Connection) -> Result<(), DbError>;
    fn answer(self: Box<Self>, end: &Result<(), StoreFault>);
}

struct JobTask<T, W> {
    work: Option<W>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, StoreFault>>,
}

impl<T, W> Job for JobTask<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, DbError> + Send,
{
    fn run(&mut self, conn: &Connection) -> Result<(), DbError> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(conn)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, end: &Result<(), StoreFault>) {
        let answer = match (end, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(stopped_fault()),
            (Err(fault), _) => Err(fault.clone()),
        };
        // The caller may be gone; the job is done anyway.
        let _ = self.reply.send(answer);
    }
}

impl Writer {
    /// A writer whose thread has not started.
    pub(super) fn new(desks: Arc<Connections>, ticks: Arc<ChangeSignal>) -> Self {
        Self {
            group_commit: Arc::new(GroupCommit::new(desks, ticks)),
            queue_bytes: Arc::new(Semaphore::new(QUEUE_KIB_MAX as usize)),
            running: Mutex::new(None),
        }
    }

    /// Runs the work within a group; returns its value once the group is committed.
    ///
    /// Queued work is done even if the caller stops waiting.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        bytes: usize,
        care: Durability,
        work: impl FnOnce(&Connection) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let kib = u32::try_from(bytes / 1024).map_or(QUEUE_KIB_MAX, |kib| kib.min(QUEUE_KIB_MAX));
        let room = Arc::clone(&self.queue_bytes).acquire_many_owned(kib).await;
        let (asker, answer) = oneshot::channel();
        let (open, alone) = self.group_commit.open_job();
        let queued = QueuedJob {
            job: Box::new(JobTask {
                work: Some(work),
                value: None,
                reply: asker,
            }),
            bytes,
            durability: care,
            _queue_bytes: room.map_err(|_| stopped_fault())?,
            open,
        };
        let mut group = vec![queued];
        if alone && self.group_commit.writes_inline(bytes) {
            self.group_commit.write(&mut group, LockWait::No);
        }
        for queued in group {
            let queue = self.queue()?;
            queue.send(queued).await.map_err(|_| stopped_fault())?;
        }
        let answer = answer.await.map_err(|_| stopped_fault())?;
        if care == Durability::SyncSoon {
            self.group_commit.schedule_sync();
        }
        answer
    }

    fn queue(&self) -> Result<mpsc::Sender<QueuedJob>, StoreFault> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok(running.queue.clone());
        }
        let (queue, waiting) = mpsc::channel(QUEUE_JOBS_MAX);
        let pen = Arc::clone(&self.group_commit);
        let thread = thread::Builder::new()
            .name("tramline-writer".into())
            .spawn(move || write_groups(&pen, waiting))
            .map_err(|error| {
                plain_fault(format!(
                    "cannot start the store's writing thread: {error}. Raise the limit on \
                     processes, or end some"
                ))
            })?;
        *running = Some(WriterThread {
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
        if let Some(WriterThread { queue, thread }) = running {
            // Without its last sender, the thread finishes the queue and ends.
            drop(queue);
            let _ = thread.join();
        }
        self.group_commit.sync_pending_jobs();
        if self.group_commit.has_written.load(Ordering::Relaxed) {
            // A remaining log is harmless: the next open reads it.
            let _ = self
                .group_commit
                .connections
                .write(|conn| Ok(Database::checkpoint_if_large(conn)?));
        }
    }
}

fn stopped_fault() -> StoreFault {
    plain_fault("the store's writing thread has stopped. Start Tramline again")
}

fn write_groups(pen: &GroupCommit, mut waiting: mpsc::Receiver<QueuedJob>) {
    let mut group = Vec::new();
    while let Some(first) = waiting.blocking_recv() {
        gather_group(first, &mut waiting, &mut group);
        pen.write(&mut group, LockWait::Yes);
    }
}

impl GroupCommit {
    fn new(connections: Arc<Connections>, changes: Arc<ChangeSignal>) -> Self {
        Self {
            connections,
            changes,
            open_jobs: AtomicUsize::new(0),
            contention: Contention::default(),
            sync_us: AtomicU64::new(0),
            syncs_on_commit: AtomicBool::new(true),
            prealloc: Mutex::default(),
            has_written: AtomicBool::new(false),
            sync_pending: AtomicBool::new(false),
            sync_scheduled: AtomicBool::new(false),
        }
    }

    /// Counts a job, and returns whether it is the only one.
    fn open_job(self: &Arc<Self>) -> (OpenJob, bool) {
        let before = self.open_jobs.fetch_add(1, Ordering::AcqRel);
        (OpenJob(Arc::clone(self)), before == 0)
    }

    /// Whether a lone job is done on its caller's thread.
    fn writes_inline(&self, bytes: usize) -> bool {
        bytes <= INLINE_BYTES_MAX
            && self.sync_us.load(Ordering::Relaxed) <= INLINE_SYNC_US_MAX
            && self.contention.allows_inline()
    }

    /// Commits a group and answers everyone in it. Leaves the group unchanged if another process
    /// writes and this thread may not wait for it.
    fn write(&self, group: &mut Vec<QueuedJob>, patience: LockWait) {
        let has = |care| {
            group
                .iter()
                .any(|queued: &QueuedJob| queued.durability == care)
        };
        let (durable, soon) = (has(Durability::Durable), has(Durability::SyncSoon));
        let end = self.connections.write(|conn| {
            // Only now: the connection may have been in use.
            let since = Instant::now();
            self.set_sync(conn, durable)?;
            if !begin_transaction(conn, patience)? {
                return Ok(false);
            }
            let mut room = self.prealloc.lock().unwrap_or_else(PoisonError::into_inner);
            if durable {
                room.before_commit(conn);
            }
            commit(conn, group)?;
            if durable {
                room.after_commit();
            }
            if durable || soon {
                // A sync covers everything written before it.
                self.sync_pending.store(!durable, Ordering::Release);
            }
            if durable && group.len() == 1 {
                self.record_duration(since.elapsed().as_micros());
            }
            Ok(true)
        });
        if let Ok(false) = end {
            return;
        }
        let end = end.map(|_| ());
        self.contention.record_group(group.len());
        self.has_written.store(true, Ordering::Relaxed);
        if (durable || soon) && end.is_ok() {
            self.changes.notify();
        }
        for queued in group.drain(..) {
            let QueuedJob { job, open, .. } = queued;
            // Before the answer: its receiver may submit more, and is alone again.
            drop(open);
            job.answer(&end);
        }
    }

    /// Moving average: one slow sync among fast ones changes little, a slow disk everything.
    fn record_duration(&self, us: u128) {
        let us = u64::try_from(us)
            .unwrap_or(u64::MAX)
            .min(INLINE_SYNC_US_MAX * 16);
        let before = self.sync_us.load(Ordering::Relaxed);
        self.sync_us.store((before * 7 + us) / 8, Ordering::Relaxed);
    }

    /// A group of passing work skips its sync; the next durable group's sync covers it.
    fn set_sync(&self, conn: &Connection, wanted: bool) -> Result<(), DbError> {
        if wanted != self.syncs_on_commit.load(Ordering::Relaxed) {
            let level = if wanted { "FULL" } else { "NORMAL" };
            conn.pragma_update(None, "synchronous", level)?;
            self.syncs_on_commit.store(wanted, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn gather_group(
    first: QueuedJob,
    waiting: &mut mpsc::Receiver<QueuedJob>,
    group: &mut Vec<QueuedJob>,
) {
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
enum LockWait {
    Yes,
    No,
}

/// Begins a transaction; returns false if another process writes and this thread may not wait for
/// it.
fn begin_transaction(conn: &Connection, patience: LockWait) -> Result<bool, DbError> {
    let mut begin = conn.prepare_cached("BEGIN IMMEDIATE")?;
    let begun = match patience {
        LockWait::Yes => begin.execute([]),
        LockWait::No => match without_waiting(|| begin.execute([])) {
            Err(error) if is_busy(&error) => return Ok(false),
            begun => begun,
        },
    };
    Ok(begun.map(|_| true)?)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn commit(conn: &Connection, group: &mut [QueuedJob]) -> Result<(), DbError> {
    let done = group.iter_mut().try_for_each(|queued| queued.job.run(conn));
    commit_or_roll_back(conn, done)
}

/// Commits or rolls back.
fn commit_or_roll_back(conn: &Connection, done: Result<(), DbError>) -> Result<(), DbError> {
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
