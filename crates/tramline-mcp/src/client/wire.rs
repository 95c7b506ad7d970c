//! A child's pipes: what the MCP library says and hears goes through here, and calls of tools go
//! past it.
//!
//! The library hands every message from task to task, and tries one shape of answer after the
//! other. A call is written where it stands, and its answer is read as what it is. The rest of the
//! conversation (the handshake, lists, pings, requests of the server) stays the library's.

use super::handler::Routes;
use super::lines::{BoundedLines, LIBRARY_BYTES_MAX, TOO_LONG_CODE};
use outbox::Outbox;
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

mod outbox;

/// Our ids begin here: the library counts from nought, and some servers keep ids in 32 bits.
const FIRST_ID: i64 = 1 << 30;

/// What came back for a call.
#[derive(Debug)]
pub(super) enum Answer {
    /// A result, as the text it came in.
    Result(String),
    /// A JSON-RPC error.
    Error(ErrorData),
    /// Neither of them.
    Odd,
}

/// The way out to a child, and who waits for what comes back.
pub(super) struct Wire {
    outbox: Arc<Outbox>,
    /// Nothing once the conversation is over.
    waiting: Mutex<Option<HashMap<i64, oneshot::Sender<Answer>>>>,
    next: AtomicI64,
}

/// A call that has left. Nobody waits for its answer once this is dropped.
pub(super) struct Asked<'a> {
    wire: &'a Wire,
    id: i64,
    /// Where its answer comes; closed without one if the conversation ends.
    pub(super) answer: oneshot::Receiver<Answer>,
}

impl Wire {
    /// A wire over a child's ends, and what the library is to listen to.
    pub(super) fn new<R: AsyncRead + Unpin>(
        lines: BoundedLines<R>,
        pipe: impl AsyncWrite + Send + 'static,
        routes: Arc<Routes>,
    ) -> (Arc<Self>, Ear<R>) {
        let wire = Arc::new(Self {
            outbox: Arc::new(Outbox::new(Box::pin(pipe))),
            waiting: Mutex::new(Some(HashMap::new())),
            next: AtomicI64::new(FIRST_ID),
        });
        let ear = Ear {
            wire: Arc::clone(&wire),
            lines: BufReader::new(lines),
            line: Vec::new(),
            routes,
        };
        (wire, ear)
    }

    /// An id that no call under way has.
    pub(super) fn id(&self) -> i64 {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        FIRST_ID + (next - FIRST_ID).rem_euclid(FIRST_ID)
    }

    /// Sends a request; `body` is its object without id and version.
    pub(super) fn ask(&self, id: i64, body: &str) -> io::Result<Asked<'_>> {
        let (sender, answer) = oneshot::channel();
        match &mut *self.waiting() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(io::ErrorKind::NotConnected.into()),
        };
        let asked = Asked {
            wire: self,
            id,
            answer,
        };
        let rest = body.strip_prefix('{').unwrap_or(body);
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}\n");
        self.outbox.send(line.as_bytes())?;
        Ok(asked)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<i64, oneshot::Sender<Answer>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: i64) -> Option<oneshot::Sender<Answer>> {
        self.waiting().as_mut()?.remove(&id)
    }

    /// The conversation is over: whoever waits is told so.
    fn hang_up(&self) {
        *self.waiting() = None;
        self.outbox.close();
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.wire.forget(self.id);
    }
}

/// A message, as far as has to be seen to know whose it is.
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
    fn own_id(&self) -> Option<i64> {
        let id: i64 = self.id?.get().parse().ok()?;
        (self.method.is_none() && id >= FIRST_ID).then_some(id)
    }

    /// What the library gets in the place of a message that is too long for it: an error where it waits
    /// for an answer, else nothing.
    fn too_long(&self, bytes: usize) -> Option<RxJsonRpcMessage<RoleClient>> {
        tracing::warn!(bytes, "a message is too long to be read");
        if self.method.is_some() {
            return None;
        }
        let id = serde_json::from_str(self.id?.get()).ok()?;
        let says =
            format!("a message of {bytes} bytes is over the limit of {LIBRARY_BYTES_MAX} bytes");
        let error = ErrorData::new(ErrorCode(TOO_LONG_CODE), says, None);
        Some(RxJsonRpcMessage::<RoleClient>::error(error, Some(id)))
    }

    fn answer(&self) -> Answer {
        match (self.result, self.error) {
            (Some(result), None) => Answer::Result(result.get().to_owned()),
            (_, Some(error)) => {
                serde_json::from_str(error.get()).map_or(Answer::Odd, Answer::Error)
            }
            (None, None) => Answer::Odd,
        }
    }
}

/// What the library listens to: all that is not for a call.
pub(super) struct Ear<R> {
    wire: Arc<Wire>,
    lines: BufReader<BoundedLines<R>>,
    /// What has come of a line. It outlives a wait that is given up.
    line: Vec<u8>,
    routes: Arc<Routes>,
}

impl<R: AsyncRead + Unpin> Ear<R> {
    /// Reads to the end of a line; false at the end of all.
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

/// Takes what is for a call or its listener, and gives the library the rest. What is no message of
/// the protocol is passed over: servers write all sorts of things.
fn heard(line: &[u8], wire: &Wire, routes: &Routes) -> Option<RxJsonRpcMessage<RoleClient>> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
    if let Some(id) = envelope.own_id() {
        // An answer that comes too late is nobody's.
        if let Some(waiting) = wire.forget(id) {
            let _ = waiting.send(envelope.answer());
        }
        return None;
    }
    // In order with the answers, which the library's way is not.
    if envelope.method.as_deref() == Some("notifications/progress") {
        let params = envelope.params?.get();
        let progress: ProgressNotificationParam = serde_json::from_str(params).ok()?;
        routes.told(progress);
        return None;
    }
    if line.len() > LIBRARY_BYTES_MAX {
        return envelope.too_long(line.len());
    }
    serde_json::from_slice(line)
        .inspect_err(|fault| tracing::debug!(%fault, "a message that is none of the protocol's"))
        .ok()
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleClient> for Ear<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = serde_json::to_vec(&item).map_err(io::Error::other);
        ready(line.and_then(|mut line| {
            line.push(b'\n');
            self.wire.outbox.send(&line)
        }))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.read_line().await {
            let heard = heard(&self.line, &self.wire, &self.routes);
            self.line.clear();
            if heard.is_some() {
                return heard;
            }
        }
        self.wire.hang_up();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.wire.hang_up();
        Ok(())
    }
}

impl<R> Drop for Ear<R> {
    fn drop(&mut self) {
        self.wire.hang_up();
    }
}

#[cfg(test)]
mod tests;
