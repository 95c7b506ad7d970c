//! One live connection to a server, and a call over it from request to value.

use super::alarms::Alarms;
use super::content;
use super::handler::{Handler, Routes};
use super::request::{Always, Patience, Request};
use super::supervise::Ending;
use super::wire::{Answer, Wire};
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
    ErrorCode, ErrorData, NumberOrString, PingRequest, ProgressToken, RequestId,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;

/// How long to wait for word on why a connection ended, once it has.
const ENDING_WAIT_MAX: Duration = Duration::from_secs(5);

/// How long the news of a cancellation may take to leave; a server that does not read is not
/// waited for.
const CANCEL_SEND_MAX: Duration = Duration::from_secs(5);

/// Which handshake a connection was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, as up to 2025-11-25.
    Legacy,
    /// `server/discover`, from 2026-07-28 on.
    Modern,
}

/// One live connection.
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) era: Era,
    pub(super) pid: Option<u32>,
    pub(super) since: Instant,
    /// Asks the supervisor to end it.
    pub(super) stop: CancellationToken,
    /// Fires when the server says that its tools have changed.
    pub(super) changed: Arc<Notify>,
    routes: Arc<Routes>,
    /// The pipes of a child, which calls go straight into.
    wire: Option<Arc<Wire>>,
    always: Always,
    alarms: Alarms,
    /// Says why it ended, once it has.
    ended: watch::Receiver<Option<Ending>>,
    /// True while it is not known whether the server still answers.
    doubted: watch::Sender<bool>,
    running: AtomicUsize,
    used_ms: AtomicU64,
}

/// How a call over a connection went wrong.
pub(super) enum Lost {
    /// It never left: the connection was gone already.
    Unsent,
    /// It never left, and this is why.
    Held(Failure),
    /// It left, and this came of it.
    Failed(Failure),
    /// It left, and there was no answer in time.
    Silent(Failure),
}

impl Connection {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        era: Era,
        pid: Option<u32>,
        handler: &Handler,
        wire: Option<Arc<Wire>>,
        ended: watch::Receiver<Option<Ending>>,
    ) -> Self {
        let version = peer.peer_info().map(|info| info.protocol_version.clone());
        let always = match (era, version) {
            (Era::Modern, Some(version)) => Always::of(&version),
            (Era::Modern, None) | (Era::Legacy, _) => Always::default(),
        };
        Self {
            peer,
            wire,
            always,
            alarms: Alarms::default(),
            era,
            pid,
            since: Instant::now(),
            stop: CancellationToken::new(),
            changed: Arc::clone(&handler.changed),
            routes: Arc::clone(&handler.routes),
            ended,
            doubted: watch::Sender::new(false),
            running: AtomicUsize::new(0),
            used_ms: AtomicU64::new(0),
        }
    }

    /// Whether calls can still go out.
    pub(super) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed() && !self.stop.is_cancelled()
    }

    /// How long nothing has used it; nothing while a call runs.
    pub(super) fn unused(&self) -> Option<Duration> {
        let used = Duration::from_millis(self.used_ms.load(Ordering::Relaxed));
        (self.running.load(Ordering::Relaxed) == 0)
            .then(|| self.since.elapsed().saturating_sub(used))
    }

    /// Waits while it is in doubt whether the server still answers.
    pub(super) async fn settled(&self) {
        if *self.doubted.borrow() {
            let mut doubted = self.doubted.subscribe();
            let _ = doubted.wait_for(|doubted| !doubted).await;
        }
    }

    /// Why it ended. Waits for that word, but not for ever.
    pub(super) async fn ending(&self) -> Option<Ending> {
        let mut ended = self.ended.clone();
        let word = tokio::time::timeout(ENDING_WAIT_MAX, ended.wait_for(Option::is_some));
        word.await.ok()?.ok()?.clone()
    }

    /// Calls a tool and waits for its output, as long as the patience lasts.
    pub(super) async fn call(&self, request: &Request, patience: Patience) -> Result<Value, Lost> {
        let _busy = Busy::new(self);
        if request.cancel.is_cancelled() {
            return Err(Lost::Held(request.cancelled()));
        }
        let answer = match &self.wire {
            Some(wire) => self.over_wire(wire, request, patience).await?,
            None => Box::pin(self.over_library(request, patience)).await?,
        };
        match answer {
            Ok(result) => {
                request.exchanges.answered(&request.key, &result);
                content::output(&request.tool, &result).map_err(Lost::Failed)
            }
            Err(ServiceError::McpError(error)) => {
                let answer = serde_json::json!({"error": &error}).to_string();
                request.exchanges.answered(&request.key, &answer);
                let fault = ServiceError::McpError(error);
                Err(Lost::Failed(self.fault(&request.tool, fault).await))
            }
            Err(fault) => {
                let lost = match never_left(&fault) {
                    true => Lost::Held,
                    false => Lost::Failed,
                };
                Err(lost(self.fault(&request.tool, fault).await))
            }
        }
    }

    /// Through a child's pipes.
    async fn over_wire(
        &self,
        wire: &Wire,
        request: &Request,
        patience: Patience,
    ) -> Result<Result<String, ServiceError>, Lost> {
        let id = wire.id();
        let body = request.body(id, &self.always);
        request.exchanges.sent(&request.key, &body);
        let Ok(mut asked) = wire.ask(id, &body) else {
            let fault = ServiceError::TransportClosed;
            let failure = self.fault(&request.tool, fault).await;
            // One that takes nothing and does not end is of no use to anybody.
            self.stop.cancel();
            return Err(Lost::Held(failure));
        };
        let number = NumberOrString::Number(id);
        let sent = Sent::new(&self.peer, number.clone(), ProgressToken(number));
        match self
            .answer(request, sent, &mut asked.answer, patience)
            .await?
        {
            Some(Answer::Result(text)) => Ok(Ok(text)),
            Some(Answer::Error(error)) => Ok(Err(ServiceError::McpError(error))),
            Some(Answer::Odd) => Err(Lost::Failed(content::bad(
                &request.tool,
                "answered with neither a result nor an error",
            ))),
            None => Ok(Err(ServiceError::TransportClosed)),
        }
    }

    /// Through the library, over HTTP.
    async fn over_library(
        &self,
        request: &Request,
        patience: Patience,
    ) -> Result<Result<String, ServiceError>, Lost> {
        let built = request.build();
        let body = serde_json::to_string(&built).unwrap_or_default();
        request.exchanges.sent(&request.key, &body);
        let options = PeerRequestOptions::no_options();
        let sending = self.peer.send_request_with_option(built, options);
        let mut handle = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(Lost::Failed(request.cancelled())),
            sent = sending => sent.map_err(|_| Lost::Unsent)?,
            () = tokio::time::sleep_until(patience.until) => {
                return Err(Lost::Silent(request.silent(patience)));
            }
        };
        let token = handle.progress_token.clone();
        let sent = Sent::new(&handle.peer, handle.id.clone(), token);
        let answer = self.answer(request, sent, &mut handle.rx, patience).await?;
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        Ok(answer.map(|result| serde_json::to_string(&result).unwrap_or_default()))
    }

    /// Waits for an answer; nothing if the connection ended before one came.
    async fn answer<T>(
        &self,
        request: &Request,
        mut sent: Sent<'_>,
        answer: &mut oneshot::Receiver<T>,
        mut patience: Patience,
    ) -> Result<Option<T>, Lost> {
        let mut alarm = self.alarms.take();
        let routed = self
            .routes
            .add(sent.token.clone(), request.progress.clone());
        loop {
            tokio::select! {
                biased;
                answer = &mut *answer => {
                    sent.disarm();
                    return Ok(answer.ok());
                }
                () = request.cancel.cancelled() => {
                    sent.tell().await;
                    return Err(Lost::Failed(request.cancelled()));
                }
                () = routed.route.sign.notified() => patience.renew(),
                () = alarm.ring(patience.until) => {
                    return Err(Lost::Silent(request.silent(patience)));
                }
            }
        }
    }

    async fn fault(&self, tool: &ToolName, fault: ServiceError) -> Failure {
        match fault {
            ServiceError::McpError(error) if self.is_lost_session(&error) => {
                self.stop.cancel();
                gone(
                    tool,
                    &format!("it no longer knows our session: {}", error.message),
                )
            }
            ServiceError::McpError(error) => content::refused(tool, error),
            ServiceError::TransportClosed => match self.ending().await {
                Some(ending) => ending.failure(tool),
                None => gone(tool, "the connection closed during the call"),
            },
            // Over HTTP only this request is lost for certain. If it was alone, the next one
            // begins anew; a child that does not take what is written to it is ending.
            ServiceError::TransportSend(error) if self.pid.is_none() => {
                if self.running.load(Ordering::Relaxed) <= 1 {
                    self.stop.cancel();
                }
                gone(tool, &chain(error.error.as_ref()))
            }
            ServiceError::TransportSend(error) => match self.ending().await {
                Some(ending) => ending.failure(tool),
                None => gone(tool, &chain(error.error.as_ref())),
            },
            other => Failure::new(FailureKind::BadAnswer, format!("{tool}: {other}")),
        }
    }

    /// A server that was started anew does not know the sessions of its former life, and many
    /// say so not with the status the protocol asks for but with an error of their own.
    fn is_lost_session(&self, error: &ErrorData) -> bool {
        let codes = [-32_000, -32_001, ErrorCode::INVALID_REQUEST.0];
        self.pid.is_none()
            && self.era == Era::Legacy
            && codes.contains(&error.code.0)
            && error.message.to_ascii_lowercase().contains("session")
    }

    /// Makes new calls wait; true for the first to doubt, who then has to [`Self::probe`].
    pub(super) fn doubt(&self) -> bool {
        !self.doubted.send_replace(true)
    }

    /// After a call that got no answer: asks whether the server answers at all, and ends the
    /// connection if it does not and nobody else waits on it.
    pub(super) async fn probe(&self, patience: Duration) {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        // Any answer will do: the newer protocol has no ping, and says so.
        let alive = tokio::time::timeout(patience, self.peer.send_request(ping)).await;
        if alive.is_err() && self.running.load(Ordering::Relaxed) == 0 {
            self.stop.cancel();
        }
        self.doubted.send_replace(false);
    }
}

/// Whether a request over HTTP certainly never reached its server's tools: nobody took the
/// connection, or it was turned away at the door.
fn never_left(fault: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = fault else {
        return false;
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.error.as_ref());
    while let Some(current) = cause {
        if let Some(error) = current.downcast_ref::<reqwest::Error>() {
            return error.is_connect() || error.is_builder();
        }
        match current.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(error)) => {
                return error.is_connect() || error.is_builder();
            }
            Some(
                StreamableHttpError::AuthRequired(_)
                | StreamableHttpError::InsufficientScope(_)
                | StreamableHttpError::ReservedHeaderConflict(_)
                | StreamableHttpError::SessionExpired,
            ) => return true,
            Some(_) | None => {}
        }
        cause = current.source();
    }
    false
}

fn gone(tool: &ToolName, why: &str) -> Failure {
    let message = format!("server `{}` is not to be reached: {why}", tool.server);
    Failure::new(FailureKind::Unavailable, message)
}

/// An error with all that is behind it.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        source = cause.source();
    }
    words
}

/// Counts a call as running, and notes when the last one ended.
struct Busy<'a>(&'a Connection);

impl<'a> Busy<'a> {
    fn new(connection: &'a Connection) -> Self {
        connection.running.fetch_add(1, Ordering::Relaxed);
        Self(connection)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.used_ms.store(now, Ordering::Relaxed);
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request that has left. The server is told when nobody waits any more, however the waiting came
/// to its end: cancelled, timed out, or dropped with the run.
struct Sent<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
    token: ProgressToken,
}

impl<'a> Sent<'a> {
    fn new(peer: &'a Peer<RoleClient>, id: RequestId, token: ProgressToken) -> Self {
        let id = Some(id);
        Self { peer, id, token }
    }

    fn disarm(&mut self) {
        self.id = None;
    }

    /// Tells it now, for callers that may close the connection next.
    async fn tell(&mut self) {
        if let Some(id) = self.id.clone() {
            cancelled(self.peer, id).await;
            self.disarm();
        }
    }
}

async fn cancelled(peer: &Peer<RoleClient>, id: RequestId) {
    let why = "nobody waits for the answer any more".to_owned();
    let params = CancelledNotificationParam::new(Some(id), Some(why));
    let notice = ClientNotification::from(CancelledNotification::new(params));
    let _ = tokio::time::timeout(CANCEL_SEND_MAX, peer.send_notification(notice)).await;
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move { cancelled(&peer, id).await });
    }
}
