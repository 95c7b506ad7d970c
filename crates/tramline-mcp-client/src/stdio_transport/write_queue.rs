//! Write queue to a child: writes at once if the pipe has room, otherwise queues. A line is always written
//! whole, even if its caller stops waiting.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

type Pipe = Pin<Box<dyn AsyncWrite + Send>>;

/// Write queue to a child.
pub(super) struct WriteQueue {
    state: Mutex<QueueState>,
    closing: CancellationToken,
}

enum QueueState {
    /// Nothing is queued.
    Idle(Pipe),
    /// A task is writing; these bytes come next. Bounded by the limit on concurrent calls.
    Writing(Vec<u8>),
    Closed,
}

impl WriteQueue {
    pub(super) fn new(pipe: Pipe) -> Self {
        Self {
            state: Mutex::new(QueueState::Idle(pipe)),
            closing: CancellationToken::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a whole line, in call order.
    pub(super) fn send(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        match &mut *state {
            QueueState::Closed => Err(io::ErrorKind::NotConnected.into()),
            QueueState::Writing(next) => {
                next.extend_from_slice(line);
                Ok(())
            }
            QueueState::Idle(pipe) => {
                let written = write_now(pipe, line)?;
                if written == line.len() {
                    return Ok(());
                }
                let next = QueueState::Writing(line[written..].to_vec());
                if let QueueState::Idle(pipe) = std::mem::replace(&mut *state, next) {
                    tokio::spawn(Arc::clone(self).drain(pipe));
                }
                Ok(())
            }
        }
    }

    /// Stops writing; the child sees the end of its input.
    pub(super) fn close(&self) {
        *self.state() = QueueState::Closed;
        self.closing.cancel();
    }

    /// Writes until the queue is empty.
    async fn drain(self: Arc<Self>, mut pipe: Pipe) {
        while let Some((part, own)) = self.take_queued(pipe) {
            pipe = own;
            let written = tokio::select! {
                written = pipe.write_all(&part) => written,
                () = self.closing.cancelled() => return,
            };
            if written.is_err() {
                return self.close();
            }
        }
    }

    /// Takes the queued bytes, or puts the pipe back if there are none.
    fn take_queued(&self, pipe: Pipe) -> Option<(Vec<u8>, Pipe)> {
        let mut state = self.state();
        match &mut *state {
            QueueState::Writing(next) if !next.is_empty() => Some((std::mem::take(next), pipe)),
            QueueState::Writing(_) => {
                *state = QueueState::Idle(pipe);
                None
            }
            QueueState::Idle(_) | QueueState::Closed => None,
        }
    }
}

/// Writes what the pipe accepts without waiting.
fn write_now(pipe: &mut Pipe, line: &[u8]) -> io::Result<usize> {
    let mut nobody = Context::from_waker(Waker::noop());
    let mut written = 0;
    while written < line.len() {
        match pipe.as_mut().poll_write(&mut nobody, &line[written..]) {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(more)) => written += more,
            Poll::Ready(Err(fault)) => return Err(fault),
            Poll::Pending => break,
        }
    }
    Ok(written)
}
