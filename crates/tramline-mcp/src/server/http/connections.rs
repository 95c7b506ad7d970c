//! Connections: a cap on their number, time limits for each, and an end for all soon after the server
//! stops.

use super::HttpLimits;
use super::activity::{Activity, Watched};
use super::body::{AnswerBody, TimedBody};
use super::front::Front;
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

/// After a failure to accept, such as for want of descriptors, it is tried again so much later.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// While there is no room, it is looked so often for a connection that can go.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(50);

/// A connection is looked at so often in the time that it has: so late is it closed at most.
const LOOKS: u32 = 4;

/// Requests of one HTTP/2 connection at the same time.
const STREAMS_MAX: u32 = 128;

/// Answers on every connection to a listener.
pub(super) struct Connections {
    pub(super) front: Front,
    pub(super) limits: HttpLimits,
    /// The server stops: requests under way may end.
    pub(super) stop: CancellationToken,
    room: Arc<Semaphore>,
    open: Mutex<OpenConnections>,
    tasks: TaskTracker,
    /// The time for requests under way is over.
    drop: CancellationToken,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    all: HashMap<u64, OpenConnection>,
}

struct OpenConnection {
    activity: Arc<Activity>,
    /// Tells it to make room.
    leave: Arc<Notify>,
}

impl Connections {
    pub(super) fn new(front: Front, limits: HttpLimits, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            room: Arc::new(Semaphore::new(limits.connections)),
            front,
            limits,
            stop,
            open: Mutex::default(),
            tasks: TaskTracker::new(),
            drop: CancellationToken::new(),
        })
    }

    /// Answers until the server stops, and then as long as requests under way may take.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        while let Some(stream) = self.accepted(&listener).await {
            let Some(permit) = self.make_room().await else {
                break;
            };
            // An answer is several small writes; without this the last waits for the first's receipt.
            let _ = stream.set_nodelay(true);
            let serving = Arc::clone(&self);
            self.tasks
                .spawn(async move { serving.attend(stream, permit).await });
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

    /// The next connection; nothing when the server stops.
    async fn accepted(&self, listener: &TcpListener) -> Option<TcpStream> {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return None,
            };
            match accepted {
                Ok((stream, _)) => return Some(stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.dismiss_idle();
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    }

    /// Room for one more connection, if need be that of one without a request.
    async fn make_room(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
                return Some(permit);
            }
            self.dismiss_idle();
            tokio::select! {
                permit = Arc::clone(&self.room).acquire_owned() => return permit.ok(),
                () = tokio::time::sleep(LOOK_FOR_ROOM) => {}
                () = self.stop.cancelled() => return None,
            }
        }
    }

    /// Ends one connection without a request: first those that never made one, then the longest idle.
    fn dismiss_idle(&self) {
        let open = self.open();
        let idle = open
            .all
            .values()
            .filter_map(|one| Some((one.activity.idle()?, one)));
        if let Some((_, longest)) = idle.min_by_key(|(idle, _)| *idle) {
            longest.leave.notify_one();
        }
    }

    async fn attend(&self, stream: TcpStream, _room: OwnedSemaphorePermit) {
        let activity = Activity::new();
        let leave = Arc::new(Notify::new());
        let id = self.entered(&activity, &leave);
        let io = TokioIo::new(Watched::new(stream, Arc::clone(&activity)));
        let answering = Answering {
            front: self.front.clone(),
            limits: self.limits.clone(),
            activity: Arc::clone(&activity),
            stop: self.stop.clone(),
        };
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http2().max_concurrent_streams(STREAMS_MAX);
        let mut connection = pin!(builder.serve_connection(io, answering));
        let mut overdue = pin!(self.overdue(&activity));
        let mut stop = pin!(self.stop.cancelled());
        let mut is_stopping = false;
        loop {
            tokio::select! {
                biased;
                _ = connection.as_mut() => break,
                () = stop.as_mut(), if !is_stopping => {
                    // Half a head is no request, so there is nothing to answer.
                    if activity.idle().is_some() {
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

    /// Waits until a connection has taken longer than it may for what it does.
    async fn overdue(&self, activity: &Activity) {
        let limits = &self.limits;
        let shortest = limits.head.min(limits.idle).min(limits.write);
        loop {
            let now = Instant::now();
            let deadline = activity.deadline(limits);
            if deadline.is_some_and(|deadline| deadline <= now) {
                return;
            }
            // What it does may change meanwhile, and with it how long it has.
            let look = now + shortest / LOOKS;
            tokio::time::sleep_until(deadline.map_or(look, |at| at.min(look))).await;
        }
    }

    fn entered(&self, activity: &Arc<Activity>, leave: &Arc<Notify>) -> u64 {
        let mut open = self.open();
        let id = open.next;
        open.next += 1;
        let one = OpenConnection {
            activity: Arc::clone(activity),
            leave: Arc::clone(leave),
        };
        open.all.insert(id, one);
        id
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the requests of one connection.
struct Answering {
    front: Front,
    limits: HttpLimits,
    activity: Arc<Activity>,
    stop: CancellationToken,
}

type Answered = Result<Response<AnswerBody>, Infallible>;

impl Service<Request<Incoming>> for Answering {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let busy = self.activity.begin(request.version() == Version::HTTP_2);
        let request = request.map(|body| TimedBody::of(body, &self.limits));
        let front = self.front.clone();
        let stop = self.stop.clone();
        Box::pin(async move {
            let response = front.answer(request).await;
            Ok(AnswerBody::of(response, busy, &stop))
        })
    }
}
