//! A driver on its way: for a moment where the run was begun, then in a task of its own.
//!
//! Many runs need no waiting but for the disk, and go to their end or to their next question in one
//! go. To begin a task for that, and to be woken by its end, takes about as long as the sync.

use crate::drive::Ended;
use crate::fault::Fault;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::task::JoinHandle;

type Came = Result<Ended, Fault>;

/// A driver on its way.
pub(super) enum Driving {
    /// It drives in a task.
    Task(JoinHandle<Came>),
    /// It went in one go.
    Over(Came),
    /// It panicked at once.
    Died,
}

thread_local! {
    /// Whether a driver is being begun on this thread: what it begins gets tasks, so that nothing
    /// is stacked.
    static BEGINS: Cell<bool> = const { Cell::new(false) };
}

impl Driving {
    /// Drives as far as it goes without waiting, and the rest in a task.
    pub(super) fn begin(mut drives: Pin<Box<dyn Future<Output = Came> + Send>>) -> Self {
        if BEGINS.replace(true) {
            return Self::Task(tokio::spawn(drives));
        }
        // Who would be woken does not matter: a new task is always looked at once.
        let mut nobody = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| drives.as_mut().poll(&mut nobody)));
        BEGINS.set(false);
        match polled {
            Ok(Poll::Ready(came)) => Self::Over(came),
            Ok(Poll::Pending) => Self::Task(tokio::spawn(drives)),
            Err(_) => Self::Died,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Came {
        Err(Fault::Refused("so".into()))
    }

    #[tokio::test]
    async fn what_waits_gets_a_task_and_what_does_not_is_over() {
        let at_once = Driving::begin(Box::pin(async { refused() }));
        assert!(matches!(at_once, Driving::Over(_)));
        let waits = Driving::begin(Box::pin(async {
            tokio::task::yield_now().await;
            refused()
        }));
        let Driving::Task(task) = waits else {
            panic!("it did not wait");
        };
        assert!(task.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn what_is_begun_within_another_gets_a_task() {
        let both = Driving::begin(Box::pin(async {
            let inner = Driving::begin(Box::pin(async { refused() }));
            assert!(matches!(inner, Driving::Task(_)));
            refused()
        }));
        assert!(matches!(both, Driving::Over(_)));
        let again = Driving::begin(Box::pin(async { refused() }));
        assert!(matches!(again, Driving::Over(_)));
    }

    #[tokio::test]
    async fn a_panic_ends_nobody_else() {
        let died = Driving::begin(Box::pin(async { panic!("on purpose") }));
        assert!(matches!(died, Driving::Died));
    }
}
