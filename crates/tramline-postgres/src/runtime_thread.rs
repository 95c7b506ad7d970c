//! A thread of its own for connections: the lease is renewed even while every other thread computes.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tramline_engine::ports::StoreFault;

/// A thread with a runtime, until it is dropped.
#[derive(Debug)]
pub(crate) struct RuntimeThread {
    handle: Handle,
    end: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl RuntimeThread {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Self, StoreFault> {
        let cannot = |error: std::io::Error| StoreFault {
            message: format!("cannot start the thread for the database: {error}"),
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(cannot)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::Builder::new()
            .name("tramline-postgres".into())
            .spawn(move || {
                let _ = runtime.block_on(ended);
            })
            .map_err(cannot)?;
        Ok(Self {
            handle,
            end: Mutex::new(Some((end, thread))),
        })
    }

    /// Where its tasks are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs work on the thread and waits for it, from code that is not asynchronous.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = done.send(work.await);
        });
        result.recv().map_err(|_| StoreFault {
            message: "the thread for the database has ended".into(),
        })
    }
}

impl Drop for RuntimeThread {
    fn drop(&mut self) {
        let end = self
            .end
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((end, thread)) = end {
            let _ = end.send(());
            let _ = thread.join();
        }
    }
}
