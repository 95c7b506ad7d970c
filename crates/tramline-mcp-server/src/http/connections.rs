//! Connection handling: a limit on their number, time limits for each, and a prompt end when the server stops.

use super::HttpLimits;
use super::activity::{ConnectionActivity, TrackedStream};
use super::body::{BodyRest, ResponseBody, TimedBody};
use super::body_budget::BodyBudget;
use super::dispatch::Dispatch;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Delay before accepting again after a failure, such as running out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How often to look for an unused connection to close while the limit is reached.
const SLOT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a client may keep us waiting for a request body, or for reading its response, while other clients find no
/// room. A client that sends at the minimum transfer rate, or reads anything, never does.
const STALLED_MIN: Duration = Duration::from_secs(1);

/// How many times a connection is checked within its shortest time limit, which bounds how late it is closed.
const CHECKS_PER_LIMIT: u32 = 4;

/// Maximum number of concurrent requests on one HTTP/2 connection.
const STREAMS_MAX: u32 = 128;

/// Serves all connections of a listener.
pub(super) struct HttpConnections {
    pub(super) dispatch: Dispatch,
    pub(super) limits: HttpLimits,
    /// The server is stopping; running requests may finish.
    pub(super) stop: CancellationToken,
    room: Arc<Semaphore>,
    bodies: Arc<BodyBudget>,
    open: Mutex<OpenConnections>,
    tasks: TaskTracker,
    /// The time for running requests is over.
    drop: CancellationToken,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    all: HashMap<u64, OpenConnection>,
}

struct OpenConnection {
    activity: Arc<ConnectionActivity>,
    /// Asks it to close.
    close: Arc<Notify>,
}

impl HttpConnections {
    pub(super) fn new(front: Dispatch, limits: HttpLimits, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            room: Arc::new(Semaphore::new(limits.connections)),
            bodies: BodyBudget::new(limits.bodies_bytes),
            dispatch: front,
            limits,
            stop,
            open: Mutex::default(),
            tasks: TaskTracker::new(),
            drop: CancellationToken::new(),
        })
    }

    /// Serves until the server stops, then waits a limited time for running requests.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        while let Some(stream) = self.accept(&listener).await {
            let Some(permit) = self.acquire_slot().await else {
                break;
            };
            // A response is several small writes; without this, Nagle's algorithm delays the last one.
            let _ = stream.set_nodelay(true);
            let serving = Arc::clone(&self);
            self.tasks
                .spawn(async move { serving.serve_connection(stream, permit).await });
        }
        drop(listener);
        self.tasks.close();
        if tokio::time::timeout(self.limits.drain, self.tasks.wait())
            .await
            .is_err()
        {
            self.drop.cancel();
            self.tasks.wait().await;
        }
    }

    /// The next connection; `None` when the server stops.
    async fn accept(&self, listener: &TcpListener) -> Option<TcpStream> {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return None,
            };
            match accepted {
                Ok((stream, _)) => return Some(stream),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    self.close_unused();
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    /// Waits for room for one more connection, closing an unused one if needed.
    async fn acquire_slot(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
                return Some(permit);
            }
            self.close_unused();
            tokio::select! {
                permit = Arc::clone(&self.room).acquire_owned() => return permit.ok(),
                () = tokio::time::sleep(SLOT_POLL_INTERVAL) => {}
                () = self.stop.cancelled() => return None,
            }
        }
    }

    /// Closes one connection that is not used: first those that never made a request, then the longest idle,
    /// then the one that has kept us waiting the longest, for a request body or for reading its response.
    fn close_unused(&self) {
        let open = self.open();
        let all = || open.all.values();
        let idle = all()
            .filter_map(|one| Some((one.activity.idle_since()?, one)))
            .min_by_key(|(idle, _)| *idle);
        let stalled = all()
            .filter_map(|one| {
                let activity = &one.activity;
                let since = activity.stalled_since().or_else(|| activity.unread_since());
                Some((since?, one))
            })
            .min_by_key(|(since, _)| *since)
            .filter(|(since, _)| since.elapsed() >= STALLED_MIN);
        let unused = idle.map(|(_, one)| one);
        if let Some(one) = unused.or_else(|| stalled.map(|(_, one)| one)) {
            one.close.notify_one();
        }
    }

    async fn serve_connection(&self, stream: TcpStream, _room: OwnedSemaphorePermit) {
        let activity = ConnectionActivity::new();
        let leave = Arc::new(Notify::new());
        let id = self.register(&activity, &leave);
        let io = TokioIo::new(TrackedStream::new(stream, Arc::clone(&activity)));
        let answering = RequestService {
            front: self.dispatch.clone(),
            limits: self.limits.clone(),
            bodies: Arc::clone(&self.bodies),
            activity: Arc::clone(&activity),
            stop: self.stop.clone(),
        };
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http2().max_concurrent_streams(STREAMS_MAX);
        let mut connection = pin!(builder.serve_connection(io, answering));
        let mut overdue = pin!(self.wait_overdue(&activity));
        let mut stop = pin!(self.stop.cancelled());
        let mut is_stopping = false;
        loop {
            tokio::select! {
                biased;
                _ = connection.as_mut() => break,
                () = stop.as_mut(), if !is_stopping => {
                    // An incomplete head is not a request, so there is nothing to answer.
                    if activity.idle_since().is_some() {
                        break;
                    }
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = overdue.as_mut() => break,
                () = leave.notified() => break,
                () = self.drop.cancelled() => break,
            }
        }
        self.open().all.remove(&id);
    }

    /// Waits until a connection has exceeded its time limit.
    async fn wait_overdue(&self, activity: &ConnectionActivity) {
        let limits = &self.limits;
        let shortest = limits.head.min(limits.idle).min(limits.write);
        loop {
            let now = Instant::now();
            let deadline = activity.deadline(limits);
            if deadline.is_some_and(|deadline| deadline <= now) {
                return;
            }
            // Its state may change in the meantime, and with it the deadline.
            let look = now + shortest / CHECKS_PER_LIMIT;
            tokio::time::sleep_until(deadline.map_or(look, |at| at.min(look))).await;
        }
    }

    fn register(&self, activity: &Arc<ConnectionActivity>, leave: &Arc<Notify>) -> u64 {
        let mut open = self.open();
        let id = open.next;
        open.next += 1;
        let one = OpenConnection {
            activity: Arc::clone(activity),
            close: Arc::clone(leave),
        };
        open.all.insert(id, one);
        id
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the requests of one connection.
struct RequestService {
    front: Dispatch,
    limits: HttpLimits,
    bodies: Arc<BodyBudget>,
    activity: Arc<ConnectionActivity>,
    stop: CancellationToken,
}

type ServiceResult = Result<Response<ResponseBody>, Infallible>;

impl Service<Request<Incoming>> for RequestService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = ServiceResult> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let busy = self
            .activity
            .begin_request(request.version() == Version::HTTP_2);
        let rest = (request.version() == Version::HTTP_2).then(BodyRest::default);
        // Held until there is a response: the handler has the bytes of the body.
        let share = self.bodies.share();
        let request = request.map(|body| {
            let share = Arc::clone(&share);
            TimedBody::of(body, &self.limits, &self.activity, share, rest.clone())
        });
        let front = self.front.clone();
        let stop = self.stop.clone();
        Box::pin(async move {
            let handled = front.handle(request).await;
            let response = share.refusal().unwrap_or(handled);
            drop(share);
            if let Some(rest) = rest {
                rest.discard().await;
            }
            Ok(ResponseBody::of(response, busy, &stop))
        })
    }
}
