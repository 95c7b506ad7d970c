//! Bodies with time limits: slow request bodies are aborted, event streams end when the server stops, and what is left
//! of a request body is read before its response is sent.

use super::HttpLimits;
use super::activity::{ConnectionActivity, PendingBody, RunningRequest, UnreadResponse};
use super::body_budget::BodyShare;
use super::limits::BODY_RATE_MIN;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// What is read of a body that its handler does not read, in bytes. A client that sends more sees its stream reset after the
/// response.
const DISCARDED_BYTES_MAX: u64 = 1 << 20;

/// How long such a body is read.
const DISCARD_MAX: Duration = Duration::from_secs(2);

/// A request body did not arrive in time.
#[derive(Debug, thiserror::Error)]
#[error("the request body did not arrive in time")]
pub(super) struct BodyTimeout;

pin_project! {
    /// A body with a deadline. Its timer starts when it is first polled.
    pub(super) struct TimedBody {
        // `None` only while it is dropped.
        inner: Option<Incoming>,
        // Receives what was not read.
        rest: Option<BodyRest>,
        begun: Instant,
        most: Duration,
        received: u64,
        pending: Option<PendingBody>,
        share: Arc<BodyShare>,
        #[pin]
        timer: Option<Sleep>,
    }

    impl PinnedDrop for TimedBody {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let parts = (this.rest.take(), this.inner.take(), this.pending.take());
            if let (Some(rest), Some(inner), Some(pending)) = parts {
                rest.put(inner, pending);
            }
        }
    }
}

impl TimedBody {
    /// The body of a request that starts now. What its handler does not read goes to `rest`.
    pub(super) fn of(
        inner: Incoming,
        limits: &HttpLimits,
        activity: &Arc<ConnectionActivity>,
        share: Arc<BodyShare>,
        rest: Option<BodyRest>,
    ) -> Body {
        if inner.is_end_stream() {
            return Body::empty();
        }
        Body::new(Self {
            inner: Some(inner),
            rest,
            begun: Instant::now(),
            most: limits.body,
            received: 0,
            pending: Some(activity.begin_body()),
            share,
            timer: None,
        })
    }
}

/// Deadline of a body of which `received` bytes have arrived.
fn deadline(begun: Instant, most: Duration, received: u64) -> Instant {
    begun + most + Duration::from_secs(received / BODY_RATE_MIN)
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut() else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(frame) = Pin::new(inner).poll_frame(cx) {
            match (&frame, &this.pending) {
                (Some(Ok(frame)), Some(pending)) => {
                    let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                    *this.received += bytes;
                    pending.received(bytes);
                    if let Err(refused) = this.share.take(bytes) {
                        *this.rest = None;
                        return Poll::Ready(Some(Err(refused.into())));
                    }
                }
                // It is complete, or will never be.
                (Some(Err(_)) | None, _) | (_, None) => *this.pending = None,
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let due = deadline(*this.begun, *this.most, *this.received);
        if this.timer.is_none() {
            this.timer.set(Some(sleep_until(due)));
        }
        let Some(mut timer) = this.timer.as_pin_mut() else {
            return Poll::Pending;
        };
        ready!(timer.as_mut().poll(cx));
        if Instant::now() >= due {
            *this.rest = None;
            return Poll::Ready(Some(Err(BodyTimeout.into())));
        }
        // More data has arrived since the timer was set.
        timer.as_mut().reset(due);
        ready!(timer.poll(cx));
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.inner.as_ref().map(HttpBody::size_hint);
        hint.unwrap_or_default()
    }
}

/// What the handler of a request left of its body.
///
/// Over HTTP/2 a response to a request that is still being sent ends with a reset of its stream, and many clients then
/// report that instead of the response. So the rest is read first, within limits.
#[derive(Clone, Default)]
pub(super) struct BodyRest(Arc<Mutex<Option<(Incoming, PendingBody)>>>);

impl BodyRest {
    fn put(&self, inner: Incoming, pending: PendingBody) {
        if !inner.is_end_stream() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((inner, pending));
        }
    }

    /// Reads the rest and discards it.
    pub(super) async fn discard(self) {
        let rest = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((mut inner, pending)) = rest else {
            return;
        };
        let reading = async {
            let mut discarded = 0;
            while discarded <= DISCARDED_BYTES_MAX
                && let Some(Ok(frame)) = inner.frame().await
            {
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                pending.received(bytes);
                discarded += bytes;
            }
        };
        // A client that is slower than this has to handle the reset.
        let _ = tokio::time::timeout(DISCARD_MAX, reading).await;
    }
}

/// Reads a whole request body, or returns the response for one that is too large, too slow or incomplete.
pub(super) async fn read_body(body: Body, bytes_max: usize) -> Result<Bytes, Box<Response>> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).is_ok_and(|announced| announced > bytes_max) {
        return Err(Box::new(too_large(bytes_max)));
    }
    let read = to_bytes(body, bytes_max).await;
    read.map_err(|error| {
        let mut cause: Option<&dyn Error> = Some(&error);
        while let Some(now) = cause {
            if now.is::<LengthLimitError>() {
                return Box::new(too_large(bytes_max));
            }
            if now.is::<BodyTimeout>() {
                let says = BodyTimeout.to_string();
                return Box::new((StatusCode::REQUEST_TIMEOUT, says).into_response());
            }
            cause = now.source();
        }
        let says = "incomplete request body";
        Box::new((StatusCode::BAD_REQUEST, says).into_response())
    })
}

fn too_large(bytes_max: usize) -> Response {
    let says = format!("the request exceeds the limit of {bytes_max} bytes");
    (StatusCode::PAYLOAD_TOO_LARGE, says).into_response()
}

/// A response body. Its request counts as running until it is sent, and an event stream ends when the server
/// stops. While there is something to send and it is not polled, the client is not reading.
pub(super) struct ResponseBody {
    inner: Body,
    stop: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    unread: Option<UnreadResponse>,
    busy: RunningRequest,
}

impl ResponseBody {
    pub(super) fn of(
        response: Response,
        busy: RunningRequest,
        stop: &CancellationToken,
    ) -> hyper::Response<Self> {
        let endless = is_stream(response.headers());
        let stop = endless.then(|| Box::pin(stop.clone().cancelled_owned()));
        response.map(|inner| Self {
            inner,
            stop,
            unread: Some(busy.begin_unread()),
            busy,
        })
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.unread = None;
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            self.unread = frame.is_some().then(|| self.busy.begin_unread());
            return Poll::Ready(frame);
        }
        match &mut self.stop {
            Some(stop) => stop.as_mut().poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
