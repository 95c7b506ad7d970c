//! Bodies with time limits: slow request bodies are aborted, event streams end when the server stops.

use super::HttpLimits;
use super::activity::{ConnectionActivity, PendingBody, RunningRequest};
use super::limits::BODY_RATE_MIN;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A request body did not arrive in time.
#[derive(Debug, thiserror::Error)]
#[error("the request body did not arrive in time")]
pub(super) struct BodyTimeout;

pin_project! {
    /// A body with a deadline. Its timer starts when it is first polled.
    pub(super) struct TimedBody {
        inner: Incoming,
        begun: Instant,
        most: Duration,
        received: u64,
        pending: Option<PendingBody>,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl TimedBody {
    /// The body of a request that starts now.
    pub(super) fn of(
        inner: Incoming,
        limits: &HttpLimits,
        activity: &Arc<ConnectionActivity>,
    ) -> Body {
        if inner.is_end_stream() {
            return Body::empty();
        }
        Body::new(Self {
            inner,
            begun: Instant::now(),
            most: limits.body,
            received: 0,
            pending: Some(activity.begin_body()),
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
        if let Poll::Ready(frame) = Pin::new(this.inner).poll_frame(cx) {
            match (&frame, &this.pending) {
                (Some(Ok(frame)), Some(pending)) => {
                    let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                    *this.received += bytes;
                    pending.received(bytes);
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
            return Poll::Ready(Some(Err(BodyTimeout.into())));
        }
        // More data has arrived since the timer was set.
        timer.as_mut().reset(due);
        ready!(timer.poll(cx));
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
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
/// stops.
pub(super) struct ResponseBody {
    inner: Body,
    stop: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    _busy: RunningRequest,
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
            _busy: busy,
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
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
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
