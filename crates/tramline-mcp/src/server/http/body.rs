//! Bodies with an end: requests that come too slowly are given up, streams end when the server stops.

use super::HttpLimits;
use super::activity::Busy;
use super::limits::BODY_RATE_MIN;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A body did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("the body of the request did not come in time")]
pub(super) struct TooSlow;

pin_project! {
    /// A body that has to come in time. Its timer is set when it is first waited for.
    pub(super) struct TimedBody {
        inner: Incoming,
        begun: Instant,
        most: Duration,
        received: u64,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl TimedBody {
    /// The body of a request, which has begun now.
    pub(super) fn of(inner: Incoming, limits: &HttpLimits) -> Body {
        if inner.is_end_stream() {
            return Body::empty();
        }
        Body::new(Self {
            inner,
            begun: Instant::now(),
            most: limits.body,
            received: 0,
            timer: None,
        })
    }
}

/// Until when a body has to be there of which so much has come.
fn due(begun: Instant, most: Duration, received: u64) -> Instant {
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
            if let Some(Ok(frame)) = &frame
                && let Some(data) = frame.data_ref()
            {
                *this.received += data.len() as u64;
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let due = due(*this.begun, *this.most, *this.received);
        if this.timer.is_none() {
            this.timer.set(Some(sleep_until(due)));
        }
        let Some(mut timer) = this.timer.as_pin_mut() else {
            return Poll::Pending;
        };
        ready!(timer.as_mut().poll(cx));
        if Instant::now() >= due {
            return Poll::Ready(Some(Err(TooSlow.into())));
        }
        // More has come since the timer was set.
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

/// The whole body of a request, or what to answer to one that is too large, too slow or broken off.
pub(super) async fn whole(body: Body, bytes_max: usize) -> Result<Bytes, Box<Response>> {
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
            if now.is::<TooSlow>() {
                let says = TooSlow.to_string();
                return Box::new((StatusCode::REQUEST_TIMEOUT, says).into_response());
            }
            cause = now.source();
        }
        let says = "the request ends before its end";
        Box::new((StatusCode::BAD_REQUEST, says).into_response())
    })
}

fn too_large(bytes_max: usize) -> Response {
    let says = format!("a request has at most {bytes_max} bytes");
    (StatusCode::PAYLOAD_TOO_LARGE, says).into_response()
}

/// The body of an answer: its request lasts as long, and a stream of events ends when the server stops.
pub(super) struct AnswerBody {
    inner: Body,
    stop: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    _busy: Busy,
}

impl AnswerBody {
    pub(super) fn of(
        response: Response,
        busy: Busy,
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

impl HttpBody for AnswerBody {
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
