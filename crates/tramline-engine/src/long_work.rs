//! Work that takes long, off the threads that everybody else waits for.
//!
//! An expression or a check of a schema may compute for seconds. On a runtime's worker that keeps
//! every connection and timer of that worker waiting; beside the workers, as many at a time as there
//! are cores, it delays no other task.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::available_parallelism;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// How many computations may take long at once: as many as can really compute.
fn turns_max() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Computations that may stand beside the workers at once, computing or waiting for a turn. Each
/// takes a thread of those that also read the store; more than so many keep their workers instead.
const BESIDE_MAX: usize = 128;

/// Turns of computations that began on a worker.
static TURNS: Turns = Turns {
    taken: Mutex::new(0),
    freed: Condvar::new(),
};
/// How many computations stand beside the workers.
static BESIDE: AtomicUsize = AtomicUsize::new(0);

/// A place beside the workers, until it is dropped.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let more = |beside: usize| (beside < BESIDE_MAX).then_some(beside + 1);
        let taken = BESIDE.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.is_ok().then_some(Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        BESIDE.fetch_sub(1, Ordering::AcqRel);
    }
}

struct Turns {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A turn, until it is dropped.
struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn, and keeps the thread waiting.
    fn take(&self) -> Turn<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |taken: &mut usize| *taken >= turns_max();
        let taken = self.freed.wait_while(taken, is_full);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_one();
    }
}

/// Does long work where it is asked for, while another thread takes over what else its worker had to
/// do. As many compute at a time as there are cores. Outside of a runtime with several workers it is simply done.
pub fn long_work(work: &mut dyn FnMut()) {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    let Ok(RuntimeFlavor::MultiThread) = flavor else {
        // Outside of a runtime, or on its only thread: no other worker could take over.
        return work();
    };
    let mut in_turn = || {
        let _turn = TURNS.take();
        work();
    };
    match Place::take() {
        Some(_place) => tokio::task::block_in_place(in_turn),
        None => in_turn(),
    }
}

/// Turns of what is tried out for somebody who waits: never more than there are cores.
static TRIALS: Semaphore = Semaphore::const_new(0);

/// Tries something out on a thread of its own, when its turn comes. Nothing if it panicked.
pub async fn try_aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static OPEN: std::sync::Once = std::sync::Once::new();
    OPEN.call_once(|| TRIALS.add_permits(turns_max()));
    let turn = TRIALS.acquire().await.ok()?;
    let tried = tokio::task::spawn_blocking(move || {
        // Held by the work itself: who stops waiting does not free a core.
        let _turn = turn;
        work()
    });
    tried.await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_work_never_takes_more_turns_than_there_are_cores() {
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
        assert!(most.load(Ordering::SeqCst) <= turns_max());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_the_only_worker_computes() {
        let (done, mut seen) = tokio::sync::oneshot::channel();
        let (begun, began) = std::sync::mpsc::channel();
        let long = tokio::spawn(async move {
            long_work(&mut || {
                begun.send(()).unwrap();
                // Comes back only when somebody else on the same runtime got a turn.
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
    async fn on_one_thread_it_is_simply_done() {
        let mut done = false;
        long_work(&mut || done = true);
        assert!(done);
        assert_eq!(try_aside(|| 5).await, Some(5));
        assert_eq!(try_aside(|| -> u8 { panic!("on purpose") }).await, None);
    }
}
