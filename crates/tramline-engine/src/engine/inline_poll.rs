//! A running driver: polled once where the run starts, then in its own task.
//!
//! Many runs only wait for the disk and reach their end or their next pause in a single poll.
//! Spawning a task for that, and being woken by its end, takes about as long as the sync.

use crate::driver::DriveOutcome;
use crate::fault::Fault;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::task::JoinHandle;

type DriveOutput = Result<DriveOutcome, Fault>;

/// A running driver.
pub(super) enum DriverTask {
    /// It runs in a task.
    Task(JoinHandle<DriveOutput>),
    /// It finished in the first poll.
    Done(DriveOutput),
    /// It panicked in the first poll.
    Panicked,
}

thread_local! {
    /// Whether a driver is being polled for the first time on this thread: drivers started within
    /// it get tasks, so that they do not nest on the stack.
    static BEGINS: Cell<bool> = const { Cell::new(false) };
}

impl DriverTask {
    /// Polls the driver once, and spawns a task if it is not done.
    pub(super) fn poll_then_spawn(
        mut drives: Pin<Box<dyn Future<Output = DriveOutput> + Send>>,
    ) -> Self {
        if BEGINS.replace(true) {
            return Self::Task(tokio::spawn(drives));
        }
        // The waker does not matter: a new task is always polled once.
        let mut nobody = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| drives.as_mut().poll(&mut nobody)));
        BEGINS.set(false);
        match polled {
            Ok(Poll::Ready(came)) => Self::Done(came),
            Ok(Poll::Pending) => Self::Task(tokio::spawn(drives)),
            Err(_) => Self::Panicked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> DriveOutput {
        Err(Fault::Rejected("so".into()))
    }

    #[tokio::test]
    async fn what_waits_gets_a_task_and_what_does_not_is_over() {
        let at_once = DriverTask::poll_then_spawn(Box::pin(async { refused() }));
        assert!(matches!(at_once, DriverTask::Done(_)));
        let waits = DriverTask::poll_then_spawn(Box::pin(async {
            tokio::task::yield_now().await;
            refused()
        }));
        let DriverTask::Task(task) = waits else {
            panic!("the future did not wait");
        };
        assert!(task.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn what_is_begun_within_another_gets_a_task() {
        let both = DriverTask::poll_then_spawn(Box::pin(async {
            let inner = DriverTask::poll_then_spawn(Box::pin(async { refused() }));
            assert!(matches!(inner, DriverTask::Task(_)));
            refused()
        }));
        assert!(matches!(both, DriverTask::Done(_)));
        let again = DriverTask::poll_then_spawn(Box::pin(async { refused() }));
        assert!(matches!(again, DriverTask::Done(_)));
    }

    #[tokio::test]
    async fn a_panic_ends_nobody_else() {
        let died = DriverTask::poll_then_spawn(Box::pin(async { panic!("on purpose") }));
        assert!(matches!(died, DriverTask::Panicked));
    }
}
