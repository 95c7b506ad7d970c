//! Runs long computations without blocking the runtime's workers.
//!
//! An expression or a schema check may compute for seconds. On a worker thread it blocks every
//! connection and timer of that worker; next to the workers, with at most one computation per core,
//! it delays no other task.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::thread::available_parallelism;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Notify, Semaphore};

/// How many long computations may run at once: one per core.
fn slots_max() -> usize {
    // Asking the system reads files.
    static CORES: LazyLock<usize> =
        LazyLock::new(|| available_parallelism().map_or(1, usize::from));
    *CORES
}

/// Computations that may be moved off the workers at once, running or waiting for a slot. Each
/// takes a thread of the pool that also reads the store; further ones stay on their workers, so runs
/// wait before they compute while there are about as many.
const OFF_WORKER_MAX: usize = 128;

/// From how many on runs wait: each worker may be about to start one more.
fn crowded_from() -> usize {
    OFF_WORKER_MAX.saturating_sub(slots_max()).max(1)
}

/// Slots for computations that started on a worker.
static SLOTS: ComputeSlots = ComputeSlots {
    taken: Mutex::new(0),
    freed: Condvar::new(),
};
/// How many computations are off the workers.
static OFF_WORKER: AtomicUsize = AtomicUsize::new(0);
/// Notified when there is room for more of them.
static ROOM: Notify = Notify::const_new();

/// A place off the workers, until it is dropped.
struct OffWorkerPermit;

impl OffWorkerPermit {
    fn take() -> Option<Self> {
        let more = |beside: usize| (beside < OFF_WORKER_MAX).then(|| beside + 1);
        let taken = OFF_WORKER.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        // Not `then_some`: a permit that was not given must not be made, because it would be returned.
        match taken {
            Ok(_) => Some(Self),
            Err(_) => None,
        }
    }
}

impl Drop for OffWorkerPermit {
    fn drop(&mut self) {
        if OFF_WORKER.fetch_sub(1, Ordering::AcqRel) <= crowded_from() {
            ROOM.notify_waiters();
        }
    }
}

/// Waits, without blocking a worker, until one more computation can be moved off the workers. To be awaited by
/// everything that evaluates expressions in a task of its own, right before it does.
pub(crate) async fn off_worker_room() {
    let has_room = || OFF_WORKER.load(Ordering::Acquire) < crowded_from();
    while !has_room() {
        let mut room = pin!(ROOM.notified());
        // Before the count is read: a computation that ends in between is not missed.
        room.as_mut().enable();
        if !has_room() {
            room.await;
        }
    }
}

struct ComputeSlots {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A slot, until it is dropped.
struct ComputeSlot<'a>(&'a ComputeSlots);

impl ComputeSlots {
    /// Blocks the thread until a slot is free.
    fn take(&self) -> ComputeSlot<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |taken: &mut usize| *taken >= slots_max();
        let taken = self.freed.wait_while(taken, is_full);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        ComputeSlot(self)
    }
}

impl Drop for ComputeSlot<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_one();
    }
}

/// Runs a long computation in place while another thread takes over the rest of its worker's tasks.
/// At most one runs per core. Outside of a multi-threaded runtime it just runs.
pub fn long_work(work: &mut dyn FnMut()) {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    let Ok(RuntimeFlavor::MultiThread) = flavor else {
        // Outside of a runtime, or on its only thread, no other worker could take over.
        return work();
    };
    let mut in_turn = || {
        let _turn = SLOTS.take();
        work();
    };
    match OffWorkerPermit::take() {
        Some(_place) => tokio::task::block_in_place(in_turn),
        None => in_turn(),
    }
}

/// Slots for evaluations that a caller waits for: never more than there are cores.
static TRIAL_SLOTS: Semaphore = Semaphore::const_new(0);

/// Runs a computation on a blocking thread when a slot is free. `None` if it panicked.
pub async fn try_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    static OPEN: std::sync::Once = std::sync::Once::new();
    OPEN.call_once(|| TRIAL_SLOTS.add_permits(slots_max()));
    let turn = TRIAL_SLOTS.acquire().await.ok()?;
    let tried = tokio::task::spawn_blocking(move || {
        // Held by the work itself: a caller that stops waiting does not free a core.
        let _turn = turn;
        work()
    });
    tried.await.ok()
}

/// Takes every slot of evaluations that a caller waits for, until the result is dropped: a test sees
/// who waits for one.
#[cfg(any(test, feature = "testing"))]
pub async fn hold_trial_slots() -> Option<tokio::sync::SemaphorePermit<'static>> {
    try_blocking(|| ()).await;
    let all = u32::try_from(slots_max()).ok()?;
    TRIAL_SLOTS.acquire_many(all).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// The slots and places are those of the process, so these tests take turns.
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_work_never_takes_more_turns_than_there_are_cores() {
        let _turn = TURN.lock().await;
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let begin = || {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            tokio::spawn(async move {
                long_work(&mut || {
                    let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(at_once, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            })
        };
        let all: Vec<_> = (0..200).map(|_| begin()).collect();
        for one in all {
            one.await.unwrap();
        }
        assert!(most.load(Ordering::SeqCst) <= slots_max());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_the_only_worker_computes() {
        let _turn = TURN.lock().await;
        let (done, mut seen) = tokio::sync::oneshot::channel();
        let (begun, began) = std::sync::mpsc::channel();
        let long = tokio::spawn(async move {
            long_work(&mut || {
                begun.send(()).unwrap();
                // Returns only when another task on the same runtime has run.
                while seen.try_recv().is_err() {
                    std::thread::yield_now();
                }
            });
        });
        let other = tokio::task::spawn_blocking(move || began.recv()).await;
        other.unwrap().unwrap();
        tokio::spawn(async move { done.send(()).unwrap() })
            .await
            .unwrap();
        long.await.unwrap();
    }

    #[tokio::test]
    async fn a_refused_place_is_not_given_back() {
        let _turn = TURN.lock().await;
        let all: Vec<_> = (0..OFF_WORKER_MAX)
            .map(|_| OffWorkerPermit::take())
            .collect();
        assert!(all.iter().all(Option::is_some));
        for _ in 0..3 {
            assert!(OffWorkerPermit::take().is_none());
        }
        drop(all);
        assert_eq!(OFF_WORKER.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn more_computations_than_threads_leave_the_workers_free() {
        let _turn = TURN.lock().await;
        const COMPUTATIONS: usize = OFF_WORKER_MAX + 40;
        let begun = Arc::new(AtomicUsize::new(0));
        let (release, released) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let begin = || {
            let (begun, release) = (Arc::clone(&begun), Arc::clone(&release));
            let released = Arc::clone(&released);
            tokio::spawn(async move {
                begun.fetch_add(1, Ordering::SeqCst);
                off_worker_room().await;
                long_work(&mut || {
                    while release.load(Ordering::SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                    released.fetch_add(1, Ordering::SeqCst);
                });
            })
        };
        let all: Vec<_> = (0..COMPUTATIONS).map(|_| begin()).collect();
        // Never reached if computations block the workers.
        while begun.load(Ordering::SeqCst) < COMPUTATIONS {
            tokio::task::yield_now().await;
        }
        tokio::spawn(async {}).await.unwrap();
        release.store(1, Ordering::SeqCst);
        for one in all {
            one.await.unwrap();
        }
        assert_eq!(released.load(Ordering::SeqCst), COMPUTATIONS);
    }

    #[tokio::test]
    async fn on_one_thread_it_is_simply_done() {
        let mut done = false;
        long_work(&mut || done = true);
        assert!(done);
        assert_eq!(try_blocking(|| 5).await, Some(5));
        assert_eq!(try_blocking(|| -> u8 { panic!("on purpose") }).await, None);
    }
}
