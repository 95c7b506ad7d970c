//! Stdio transport of a child: carries the MCP library's messages, and tool calls that bypass the library.
//!
//! The library passes every message from task to task and tries one answer shape after another. A tool call is
//! written directly, and its answer is parsed once. Everything else (handshake, lists, pings, server requests)
//! stays with the library.

use super::bounded_reader::{BoundedReader, LIBRARY_BYTES_MAX, TOO_LONG_CODE};
use super::handler::ProgressRoutes;
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, ProgressNotificationParam};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::ready;
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::oneshot;
use write_queue::WriteQueue;

mod write_queue;

/// First id of our requests: the library counts from 0, and some servers store ids in 32 bits.
const FIRST_ID: i64 = 1 << 30;

/// The answer to a call.
#[derive(Debug)]
pub(super) enum CallAnswer {
    /// A result, as JSON text.
    Result(String),
    /// A JSON-RPC error.
    Error(ErrorData),
    /// Neither of the two.
    Invalid,
}

/// The connection to a child: its write queue and the calls that wait for answers.
pub(super) struct StdioTransport {
    write_queue: Arc<WriteQueue>,
    /// `None` once the connection is closed.
    waiting: Mutex<Option<HashMap<i64, oneshot::Sender<CallAnswer>>>>,
    next: AtomicI64,
}

/// A call that was sent. Dropping it discards its answer.
pub(super) struct PendingCall<'a> {
    transport: &'a StdioTransport,
    id: i64,
    /// Receives the answer; closed without one if the connection ends.
    pub(super) answer: oneshot::Receiver<CallAnswer>,
}

impl StdioTransport {
    /// Creates the wire over a child's streams, and the transport for the library.
    pub(super) fn new<R: AsyncRead + Unpin>(
        lines: BoundedReader<R>,
        pipe: impl AsyncWrite + Send + 'static,
        routes: Arc<ProgressRoutes>,
    ) -> (Arc<Self>, StdioReadHalf<R>) {
        let wire = Arc::new(Self {
            write_queue: Arc::new(WriteQueue::new(Box::pin(pipe))),
            waiting: Mutex::new(Some(HashMap::new())),
            next: AtomicI64::new(FIRST_ID),
        });
        let ear = StdioReadHalf {
            transport: Arc::clone(&wire),
            lines: BufReader::new(lines),
            line: Vec::new(),
            routes,
        };
        (wire, ear)
    }

    /// An id that no running call uses.
    pub(super) fn next_id(&self) -> i64 {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        FIRST_ID + (next - FIRST_ID).rem_euclid(FIRST_ID)
    }

    /// Sends a request; `body` is its JSON object without id and version.
    pub(super) fn send_call(&self, id: i64, body: &str) -> io::Result<PendingCall<'_>> {
        let (sender, answer) = oneshot::channel();
        match &mut *self.waiting() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(io::ErrorKind::NotConnected.into()),
        };
        let asked = PendingCall {
            transport: self,
            id,
            answer,
        };
        let rest = body.strip_prefix('{').unwrap_or(body);
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}\n");
        self.write_queue.send(line.as_bytes())?;
        Ok(asked)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<i64, oneshot::Sender<CallAnswer>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_waiting(&self, id: i64) -> Option<oneshot::Sender<CallAnswer>> {
        self.waiting().as_mut()?.remove(&id)
    }

    /// Closes the connection: waiting calls get no answer.
    fn close(&self) {
        *self.waiting() = None;
        self.write_queue.close();
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        self.transport.take_waiting(self.id);
    }
}

/// The parts of a message that decide who handles it.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// The id, if it is one of ours.
    fn call_id(&self) -> Option<i64> {
        let id: i64 = self.id?.get().parse().ok()?;
        (self.method.is_none() && id >= FIRST_ID).then_some(id)
    }

    /// What the library gets instead of a message that is too long for it: an error if it waits for an answer,
    /// otherwise nothing.
    fn too_long(&self, bytes: usize) -> Option<RxJsonRpcMessage<RoleClient>> {
        tracing::warn!(bytes, "dropped a message that is too long");
        if self.method.is_some() {
            return None;
        }
        let id = serde_json::from_str(self.id?.get()).ok()?;
        let says =
            format!("a message of {bytes} bytes is over the limit of {LIBRARY_BYTES_MAX} bytes");
        let error = ErrorData::new(ErrorCode(TOO_LONG_CODE), says, None);
        Some(RxJsonRpcMessage::<RoleClient>::error(error, Some(id)))
    }

    fn answer(&self) -> CallAnswer {
        match (self.result, self.error) {
            (Some(result), None) => CallAnswer::Result(result.get().to_owned()),
            (_, Some(error)) => {
                serde_json::from_str(error.get()).map_or(CallAnswer::Invalid, CallAnswer::Error)
            }
            (None, None) => CallAnswer::Invalid,
        }
    }
}

/// The library's transport: receives everything that is not for a call.
pub(super) struct StdioReadHalf<R> {
    transport: Arc<StdioTransport>,
    lines: BufReader<BoundedReader<R>>,
    /// The part of the line received so far. Survives a cancelled read.
    line: Vec<u8>,
    routes: Arc<ProgressRoutes>,
}

impl<R: AsyncRead + Unpin> StdioReadHalf<R> {
    /// Reads to the end of a line; false at the end of the stream.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(more) = self.lines.fill_buf().await else {
                return false;
            };
            if more.is_empty() {
                return false;
            }
            let end = memchr::memchr(b'\n', more);
            let part = end.map_or(more.len(), |at| at + 1);
            self.line.extend_from_slice(&more[..part]);
            self.lines.consume(part);
            if end.is_some() {
                return true;
            }
        }
    }
}

/// Handles messages for calls and progress listeners, and returns the rest for the library. Lines that are not
/// protocol messages are skipped: servers write all sorts of things.
fn route_line(
    line: &[u8],
    wire: &StdioTransport,
    routes: &ProgressRoutes,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
    if let Some(id) = envelope.call_id() {
        // A late answer has no receiver and is dropped.
        if let Some(waiting) = wire.take_waiting(id) {
            let _ = waiting.send(envelope.answer());
        }
        return None;
    }
    // Handled here to stay in order with the answers, which the library does not guarantee.
    if envelope.method.as_deref() == Some("notifications/progress") {
        let params = envelope.params?.get();
        let progress: ProgressNotificationParam = serde_json::from_str(params).ok()?;
        routes.dispatch(progress);
        return None;
    }
    if line.len() > LIBRARY_BYTES_MAX {
        return envelope.too_long(line.len());
    }
    serde_json::from_slice(line)
        .inspect_err(
            |fault| tracing::debug!(%fault, "skipped a line that is not a protocol message"),
        )
        .ok()
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleClient> for StdioReadHalf<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = serde_json::to_vec(&item).map_err(io::Error::other);
        ready(line.and_then(|mut line| {
            line.push(b'\n');
            self.transport.write_queue.send(&line)
        }))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.read_line().await {
            let heard = route_line(&self.line, &self.transport, &self.routes);
            self.line.clear();
            if heard.is_some() {
                return heard;
            }
        }
        self.transport.close();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.transport.close();
        Ok(())
    }
}

impl<R> Drop for StdioReadHalf<R> {
    fn drop(&mut self) {
        self.transport.close();
    }
}

#[cfg(test)]
mod tests;
