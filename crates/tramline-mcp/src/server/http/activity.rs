//! What a connection does: whether it has a request under way, and since when it keeps us waiting.
//!
//! Kept in a few numbers that the socket and the requests write and a timer reads now and then, so
//! that a request pays for no timer of its own.

use super::HttpLimits;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// What a moment is that has not come.
const NEVER: u64 = u64::MAX;

/// What a connection does. Moments are milliseconds since it was accepted.
pub(super) struct Activity {
    accepted: Instant,
    /// Requests whose answer is not sent yet.
    requests: AtomicUsize,
    /// Whether there was a request at all.
    has_asked: AtomicBool,
    /// Whether it speaks HTTP/2, which also sends while nothing is asked.
    is_http2: AtomicBool,
    /// When the last answer was sent.
    quiet_since: AtomicU64,
    /// When the first byte came of a head that is not whole.
    head_since: AtomicU64,
    /// Since when the client takes nothing of what it is sent.
    blocked_since: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Self::accepted_at(Instant::now())
    }

    fn accepted_at(accepted: Instant) -> Arc<Self> {
        Arc::new(Self {
            accepted,
            requests: AtomicUsize::new(0),
            has_asked: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            quiet_since: AtomicU64::new(0),
            head_since: AtomicU64::new(NEVER),
            blocked_since: AtomicU64::new(NEVER),
        })
    }

    /// Notes that a request has begun, until what is given back goes.
    pub(super) fn begin(self: &Arc<Self>, is_http2: bool) -> Busy {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_since.store(NEVER, Ordering::Relaxed);
        self.is_http2.store(is_http2, Ordering::Relaxed);
        self.has_asked.store(true, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Since when it waits for a request, in an order in which those go first that never made one;
    /// nothing while a request is under way.
    pub(super) fn idle(&self) -> Option<(bool, Instant)> {
        let has_asked = self.has_asked.load(Ordering::Relaxed);
        let quiet = self.quiet_since.load(Ordering::Relaxed);
        // An answer that waits for its client is not sent yet.
        let is_sent = self.blocked_since.load(Ordering::Relaxed) == NEVER;
        let is_idle = self.requests.load(Ordering::Relaxed) == 0 && is_sent;
        is_idle.then(|| (has_asked, self.moment(quiet)))
    }

    /// Until when it may go on like this.
    pub(super) fn deadline(&self, limits: &HttpLimits) -> Option<Instant> {
        let blocked = self.blocked_since.load(Ordering::Relaxed);
        let blocked = (blocked != NEVER).then(|| self.moment(blocked) + limits.write);
        blocked.into_iter().chain(self.next_request(limits)).min()
    }

    /// Until when the next request has to be there.
    fn next_request(&self, limits: &HttpLimits) -> Option<Instant> {
        if self.requests.load(Ordering::Relaxed) > 0 {
            return None;
        }
        if !self.has_asked.load(Ordering::Relaxed) {
            return Some(self.accepted + limits.head);
        }
        let head = self.head_since.load(Ordering::Relaxed);
        if head != NEVER && !self.is_http2.load(Ordering::Relaxed) {
            return Some(self.moment(head) + limits.head);
        }
        Some(self.moment(self.quiet_since.load(Ordering::Relaxed)) + limits.idle)
    }

    fn moment(&self, ms: u64) -> Instant {
        self.accepted + Duration::from_millis(ms)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }

    fn received(&self) {
        let waits = self.requests.load(Ordering::Relaxed) == 0;
        if waits {
            self.begins(&self.head_since);
        }
    }

    /// Notes the moment at which something begins, unless it has begun already.
    fn begins(&self, since: &AtomicU64) {
        if since.load(Ordering::Relaxed) == NEVER {
            since.store(self.now(), Ordering::Relaxed);
        }
    }

    fn sent(&self) {
        if self.blocked_since.load(Ordering::Relaxed) != NEVER {
            self.blocked_since.store(NEVER, Ordering::Relaxed);
        }
    }

    fn blocked(&self) {
        self.begins(&self.blocked_since);
    }
}

/// A request under way.
pub(super) struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.quiet_since.store(self.0.now(), Ordering::Relaxed);
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket whose activity is noted.
pub(super) struct Watched {
    stream: TcpStream,
    activity: Arc<Activity>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>) -> Self {
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

impl AsyncRead for Watched {
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

impl AsyncWrite for Watched {
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

    /// A connection that was accepted so many seconds ago.
    fn accepted(seconds: u64) -> Arc<Activity> {
        Activity::accepted_at(Instant::now() - Duration::from_secs(seconds))
    }

    /// Until when it may go on like this, in seconds since it was accepted.
    fn due(activity: &Activity) -> Option<u64> {
        let deadline = activity.deadline(&limits())?;
        Some((deadline - activity.accepted).as_secs())
    }

    #[test]
    fn the_first_request_has_to_come_soon() {
        let activity = accepted(4);
        assert_eq!(due(&activity), Some(10));
        // A byte now and then buys nothing.
        activity.received();
        assert_eq!(due(&activity), Some(10));
    }

    #[test]
    fn a_request_under_way_may_last() {
        let activity = accepted(1_000);
        let busy = activity.begin(false);
        assert_eq!((due(&activity), activity.idle()), (None, None));
        drop(busy);
        assert_eq!(due(&activity), Some(1_075));
        assert!(activity.idle().is_some());
        activity.blocked();
        assert_eq!(activity.idle(), None);
    }

    #[test]
    fn half_a_head_has_less_time_than_no_head() {
        let activity = accepted(1_000);
        drop(activity.begin(false));
        activity.received();
        assert_eq!(due(&activity), Some(1_010));
        drop(activity.begin(false));
        assert_eq!(due(&activity), Some(1_075));
    }

    #[test]
    fn what_is_not_taken_ends_a_request_under_way() {
        let activity = accepted(1_000);
        let _busy = activity.begin(false);
        activity.blocked();
        assert_eq!(due(&activity), Some(1_030));
        activity.sent();
        assert_eq!(due(&activity), None);
    }

    #[test]
    fn http2_may_send_while_nothing_is_asked() {
        let activity = accepted(1_000);
        drop(activity.begin(true));
        activity.received();
        assert_eq!(due(&activity), Some(1_075));
    }
}
