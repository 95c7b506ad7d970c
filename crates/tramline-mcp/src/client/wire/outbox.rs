//! What leaves for a child: written at once where that works, and behind what waits where it does
//! not. A line is never cut, whoever gives up waiting for its answer.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

type Pipe = Pin<Box<dyn AsyncWrite + Send>>;

/// What leaves for a child.
pub(super) struct Outbox {
    state: Mutex<State>,
    closing: CancellationToken,
}

enum State {
    /// Nothing waits.
    Free(Pipe),
    /// A task writes; this comes next. No more than the calls that may run at once bring.
    Full(Vec<u8>),
    Closed,
}

impl Outbox {
    pub(super) fn new(pipe: Pipe) -> Self {
        Self {
            state: Mutex::new(State::Free(pipe)),
            closing: CancellationToken::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a whole line, in the order of the calls.
    pub(super) fn send(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        match &mut *state {
            State::Closed => Err(io::ErrorKind::NotConnected.into()),
            State::Full(next) => {
                next.extend_from_slice(line);
                Ok(())
            }
            State::Free(pipe) => {
                let written = write_now(pipe, line)?;
                if written == line.len() {
                    return Ok(());
                }
                let next = State::Full(line[written..].to_vec());
                if let State::Free(pipe) = std::mem::replace(&mut *state, next) {
                    tokio::spawn(Arc::clone(self).write_out(pipe));
                }
                Ok(())
            }
        }
    }

    /// Nothing leaves any more, and the child sees the end of its input.
    pub(super) fn close(&self) {
        *self.state() = State::Closed;
        self.closing.cancel();
    }

    /// Writes until nothing waits.
    async fn write_out(self: Arc<Self>, mut pipe: Pipe) {
        while let Some((part, own)) = self.next(pipe) {
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

    /// What waits, or the pipe is put back.
    fn next(&self, pipe: Pipe) -> Option<(Vec<u8>, Pipe)> {
        let mut state = self.state();
        match &mut *state {
            State::Full(next) if !next.is_empty() => Some((std::mem::take(next), pipe)),
            State::Full(_) => {
                *state = State::Free(pipe);
                None
            }
            State::Free(_) | State::Closed => None,
        }
    }
}

/// Writes what the pipe takes without waiting.
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
