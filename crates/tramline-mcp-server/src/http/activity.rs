//! Activity of a connection: whether a request is running, and how long the client has kept us waiting.
//!
//! Stored in a few atomics that the socket and the requests write and one timer polls, so that a request needs
//! no timer of its own.

use super::HttpLimits;
use super::limits::BODY_RATE_MIN;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Marks a time that is not set.
const UNSET_MS: u64 = u64::MAX;

/// Activity of a connection. Times are milliseconds since it was accepted.
pub(super) struct ConnectionActivity {
    accepted: Instant,
    /// Requests whose response is not sent yet.
    requests: AtomicUsize,
    /// Whether it has made any request.
    has_requested: AtomicBool,
    /// Whether it uses HTTP/2, which also sends frames without requests.
    is_http2: AtomicBool,
    /// Requests whose body has not arrived completely.
    bodies: AtomicUsize,
    /// When the first of these bodies began.
    body_since: AtomicU64,
    /// Bytes of these bodies that have arrived.
    body_bytes: AtomicU64,
    /// When the last response was sent.
    quiet_since: AtomicU64,
    /// When the first byte of an incomplete request head arrived.
    head_since: AtomicU64,
    /// Since when the client has not read what we send.
    blocked_since: AtomicU64,
    /// Responses of which something is ready to be sent. Over HTTP/2 a client that grants no window leaves them
    /// there, and the socket never blocks.
    unread: AtomicUsize,
    /// When the last of them made progress.
    unread_since: AtomicU64,
}

impl ConnectionActivity {
    pub(super) fn new() -> Arc<Self> {
        Self::accepted_at(Instant::now())
    }

    fn accepted_at(accepted: Instant) -> Arc<Self> {
        Arc::new(Self {
            accepted,
            requests: AtomicUsize::new(0),
            has_requested: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            bodies: AtomicUsize::new(0),
            body_since: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            quiet_since: AtomicU64::new(0),
            head_since: AtomicU64::new(UNSET_MS),
            blocked_since: AtomicU64::new(UNSET_MS),
            unread: AtomicUsize::new(0),
            unread_since: AtomicU64::new(0),
        })
    }

    /// Records that a request is running until the returned value is dropped.
    pub(super) fn begin_request(self: &Arc<Self>, is_http2: bool) -> RunningRequest {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_since.store(UNSET_MS, Ordering::Relaxed);
        self.is_http2.store(is_http2, Ordering::Relaxed);
        self.has_requested.store(true, Ordering::Relaxed);
        RunningRequest(Arc::clone(self))
    }

    /// Records that the body of a running request is arriving until the returned value is dropped.
    pub(super) fn begin_body(self: &Arc<Self>) -> PendingBody {
        if self.bodies.fetch_add(1, Ordering::Relaxed) == 0 {
            self.body_since.store(self.now(), Ordering::Relaxed);
            self.body_bytes.store(0, Ordering::Relaxed);
        }
        PendingBody(Arc::clone(self))
    }

    /// Since when all running requests have only been waiting for their bodies; `None` if none does. Bytes count
    /// as time at the minimum transfer rate, so sending one now and then gains nothing.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        let bodies = self.bodies.load(Ordering::Relaxed);
        let is_stalled = bodies > 0 && bodies >= self.requests.load(Ordering::Relaxed);
        is_stalled.then(|| {
            let arrived = self.body_bytes.load(Ordering::Relaxed) / BODY_RATE_MIN;
            self.moment(self.body_since.load(Ordering::Relaxed)) + Duration::from_secs(arrived)
        })
    }

    /// Since when it has been idle, ordered so that connections without any request come first; `None` while a
    /// request is running.
    pub(super) fn idle_since(&self) -> Option<(bool, Instant)> {
        let has_asked = self.has_requested.load(Ordering::Relaxed);
        let quiet = self.quiet_since.load(Ordering::Relaxed);
        // A response that the client has not read is not sent yet.
        let is_sent = self.blocked_since.load(Ordering::Relaxed) == UNSET_MS;
        let is_idle = self.requests.load(Ordering::Relaxed) == 0 && is_sent;
        is_idle.then(|| (has_asked, self.moment(quiet)))
    }

    /// Since when the client has not read its responses; `None` while it reads or there are none.
    pub(super) fn unread_since(&self) -> Option<Instant> {
        let blocked = self.blocked_since.load(Ordering::Relaxed);
        let blocked = (blocked != UNSET_MS).then(|| self.moment(blocked));
        let is_unread = self.unread.load(Ordering::Relaxed) > 0;
        let unread = is_unread.then(|| self.moment(self.unread_since.load(Ordering::Relaxed)));
        blocked.into_iter().chain(unread).min()
    }

    /// Deadline of the connection in its current state.
    pub(super) fn deadline(&self, limits: &HttpLimits) -> Option<Instant> {
        let unread = self.unread_since().map(|since| since + limits.write);
        unread
            .into_iter()
            .chain(self.request_deadline(limits))
            .min()
    }

    /// Deadline for the next request.
    fn request_deadline(&self, limits: &HttpLimits) -> Option<Instant> {
        if self.requests.load(Ordering::Relaxed) > 0 {
            return None;
        }
        if !self.has_requested.load(Ordering::Relaxed) {
            return Some(self.accepted + limits.head);
        }
        let head = self.head_since.load(Ordering::Relaxed);
        if head != UNSET_MS && !self.is_http2.load(Ordering::Relaxed) {
            return Some(self.moment(head) + limits.head);
        }
        Some(self.moment(self.quiet_since.load(Ordering::Relaxed)) + limits.idle)
    }

    fn moment(&self, ms: u64) -> Instant {
        self.accepted + Duration::from_millis(ms)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(UNSET_MS - 1)
    }

    fn received(&self) {
        let waits = self.requests.load(Ordering::Relaxed) == 0;
        if waits {
            self.mark_start(&self.head_since);
        }
    }

    /// Records the start of something, unless it has already started.
    fn mark_start(&self, since: &AtomicU64) {
        if since.load(Ordering::Relaxed) == UNSET_MS {
            since.store(self.now(), Ordering::Relaxed);
        }
    }

    fn sent(&self) {
        if self.blocked_since.load(Ordering::Relaxed) != UNSET_MS {
            self.blocked_since.store(UNSET_MS, Ordering::Relaxed);
        }
    }

    fn blocked(&self) {
        self.mark_start(&self.blocked_since);
    }
}

/// A running request.
pub(super) struct RunningRequest(Arc<ConnectionActivity>);

impl RunningRequest {
    /// Records that a part of the response is ready until the returned value is dropped, when it was taken.
    pub(super) fn begin_unread(&self) -> UnreadResponse {
        let activity = &self.0;
        activity.unread.fetch_add(1, Ordering::Relaxed);
        activity
            .unread_since
            .store(activity.now(), Ordering::Relaxed);
        UnreadResponse(Arc::clone(activity))
    }
}

/// A part of a response that is ready to be sent.
pub(super) struct UnreadResponse(Arc<ConnectionActivity>);

impl Drop for UnreadResponse {
    fn drop(&mut self) {
        let now = self.0.now();
        self.0.unread_since.store(now, Ordering::Relaxed);
        self.0.unread.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.quiet_since.store(self.0.now(), Ordering::Relaxed);
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request body that has not arrived completely.
pub(super) struct PendingBody(Arc<ConnectionActivity>);

impl PendingBody {
    /// Records that more of it has arrived.
    pub(super) fn received(&self, bytes: u64) {
        self.0.body_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for PendingBody {
    fn drop(&mut self) {
        self.0.bodies.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket whose activity is recorded.
pub(super) struct TrackedStream {
    stream: TcpStream,
    activity: Arc<ConnectionActivity>,
}

impl TrackedStream {
    pub(super) fn new(stream: TcpStream, activity: Arc<ConnectionActivity>) -> Self {
        Self { stream, activity }
    }

    fn written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.activity.blocked(),
            Poll::Ready(_) => self.activity.sent(),
        }
        written
    }
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        read
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> HttpLimits {
        HttpLimits {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write: Duration::from_secs(30),
            ..HttpLimits::default()
        }
    }

    /// A connection that was accepted this many seconds ago.
    fn accepted(seconds: u64) -> Arc<ConnectionActivity> {
        ConnectionActivity::accepted_at(Instant::now() - Duration::from_secs(seconds))
    }

    /// Its deadline, in seconds since it was accepted.
    fn due(activity: &ConnectionActivity) -> Option<u64> {
        let deadline = activity.deadline(&limits())?;
        Some((deadline - activity.accepted).as_secs())
    }

    #[test]
    fn the_first_request_has_to_come_soon() {
        let activity = accepted(4);
        assert_eq!(due(&activity), Some(10));
        // Sending a byte now and then does not extend it.
        activity.received();
        assert_eq!(due(&activity), Some(10));
    }

    #[test]
    fn a_request_under_way_may_last() {
        let activity = accepted(1_000);
        let busy = activity.begin_request(false);
        assert_eq!((due(&activity), activity.idle_since()), (None, None));
        drop(busy);
        assert_eq!(due(&activity), Some(1_075));
        assert!(activity.idle_since().is_some());
        activity.blocked();
        assert_eq!(activity.idle_since(), None);
    }

    #[test]
    fn a_request_stalls_only_while_its_body_is_awaited() {
        let activity = accepted(1_000);
        let busy = activity.begin_request(false);
        assert_eq!(activity.stalled_since(), None);
        let body = activity.begin_body();
        let since = || {
            activity
                .stalled_since()
                .map(|since| (since - activity.accepted).as_secs())
        };
        assert_eq!(since(), Some(1_000));
        // Single bytes do not extend it; data at the minimum rate does.
        body.received(1);
        assert_eq!(since(), Some(1_000));
        body.received(3 * BODY_RATE_MIN);
        assert_eq!(since(), Some(1_003));
        // Another request of the connection is being answered.
        let other = activity.begin_request(true);
        assert_eq!(since(), None);
        drop(other);
        drop(body);
        assert_eq!(since(), None);
        drop(busy);
    }

    #[test]
    fn half_a_head_has_less_time_than_no_head() {
        let activity = accepted(1_000);
        drop(activity.begin_request(false));
        activity.received();
        assert_eq!(due(&activity), Some(1_010));
        drop(activity.begin_request(false));
        assert_eq!(due(&activity), Some(1_075));
    }

    #[test]
    fn what_is_not_taken_ends_a_request_under_way() {
        let activity = accepted(1_000);
        let _busy = activity.begin_request(false);
        activity.blocked();
        assert_eq!(due(&activity), Some(1_030));
        activity.sent();
        assert_eq!(due(&activity), None);
    }

    #[test]
    fn a_response_that_is_not_taken_ends_its_connection_and_progress_of_any_counts() {
        let activity = accepted(1_000);
        let busy = activity.begin_request(true);
        assert_eq!(activity.unread_since(), None);
        let first = busy.begin_unread();
        let second = busy.begin_unread();
        assert_eq!(due(&activity), Some(1_030));
        drop(first);
        assert_eq!(due(&activity), Some(1_030));
        drop(second);
        assert_eq!(due(&activity), None);
    }

    #[test]
    fn http2_may_send_while_nothing_is_asked() {
        let activity = accepted(1_000);
        drop(activity.begin_request(true));
        activity.received();
        assert_eq!(due(&activity), Some(1_075));
    }
}
