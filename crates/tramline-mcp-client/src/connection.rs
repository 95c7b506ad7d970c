//! One open connection to a server, and one call over it from request to value.

use super::handler::{NotificationHandler, ProgressRoutes};
use super::request::{CallDeadlines, RequestMeta, ToolRequest};
use super::stdio_transport::{CallAnswer, StdioTransport};
use super::supervisor::ConnectionEnd;
use super::timer_pool::TimerPool;
use super::tool_output;
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
use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::without_error_numbers;

/// How long to wait for the reason why a connection ended.
const END_REASON_WAIT_MAX: Duration = Duration::from_secs(5);

/// How long sending a cancellation may take; a server that does not read its input is not waited for.
const CANCEL_SEND_MAX: Duration = Duration::from_secs(5);

/// Which handshake a connection was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, used up to protocol version 2025-11-25.
    Legacy,
    /// `server/discover`, used since protocol version 2026-07-28.
    Modern,
}

/// An open connection.
pub(super) struct ServerConnection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) era: Era,
    pub(super) pid: Option<u32>,
    pub(super) since: Instant,
    /// Asks the supervisor to end it.
    pub(super) stop: CancellationToken,
    /// Notified when the server reports that its tools changed.
    pub(super) changed: Arc<Notify>,
    routes: Arc<ProgressRoutes>,
    /// The child's pipes, used directly for calls.
    wire: Option<Arc<StdioTransport>>,
    request_meta: RequestMeta,
    timers: TimerPool,
    /// Why the connection ended, once it has.
    end_reason: watch::Receiver<Option<ConnectionEnd>>,
    /// True while it is unknown whether the server still responds.
    unresponsive: watch::Sender<bool>,
    running: AtomicUsize,
    last_used_ms: AtomicU64,
}

/// How a call over a connection failed.
pub(super) enum CallError {
    /// Not sent: the connection was already closed.
    Unsent,
    /// Not sent, for this reason.
    NotSent(Failure),
    /// Sent, and it failed like this.
    Failed(Failure),
    /// Sent, but no answer came in time.
    TimedOut(Failure),
}

impl ServerConnection {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        era: Era,
        pid: Option<u32>,
        handler: &NotificationHandler,
        wire: Option<Arc<StdioTransport>>,
        end_reason: watch::Receiver<Option<ConnectionEnd>>,
    ) -> Self {
        let version = peer.peer_info().map(|info| info.protocol_version.clone());
        let request_meta = match (era, version) {
            (Era::Modern, Some(version)) => RequestMeta::of(&version),
            (Era::Modern, None) | (Era::Legacy, _) => RequestMeta::default(),
        };
        Self {
            peer,
            wire,
            request_meta,
            timers: TimerPool::default(),
            era,
            pid,
            since: Instant::now(),
            stop: CancellationToken::new(),
            changed: Arc::clone(&handler.tools_changed),
            routes: Arc::clone(&handler.routes),
            end_reason,
            unresponsive: watch::Sender::new(false),
            running: AtomicUsize::new(0),
            last_used_ms: AtomicU64::new(0),
        }
    }

    /// Whether calls can still be sent.
    pub(super) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed() && !self.stop.is_cancelled()
    }

    /// How long the connection has been idle; `None` while a call runs.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        let used = Duration::from_millis(self.last_used_ms.load(Ordering::Relaxed));
        (self.running.load(Ordering::Relaxed) == 0)
            .then(|| self.since.elapsed().saturating_sub(used))
    }

    /// Waits while it is unknown whether the server still responds.
    pub(super) async fn wait_responsive(&self) {
        if *self.unresponsive.borrow() {
            let mut doubted = self.unresponsive.subscribe();
            let _ = doubted.wait_for(|doubted| !doubted).await;
        }
    }

    /// Why the connection ended. Waits a limited time for the reason.
    pub(super) async fn wait_for_end(&self) -> Option<ConnectionEnd> {
        let mut ended = self.end_reason.clone();
        let word = tokio::time::timeout(END_REASON_WAIT_MAX, ended.wait_for(Option::is_some));
        word.await.ok()?.ok()?.clone()
    }

    /// Calls a tool and waits for its output until the timeout.
    pub(super) async fn call(
        &self,
        request: &ToolRequest,
        patience: CallDeadlines,
    ) -> Result<Value, CallError> {
        let _busy = RunningCall::new(self);
        if request.cancel.is_cancelled() {
            return Err(CallError::NotSent(request.cancelled_failure()));
        }
        let answer = match &self.wire {
            Some(wire) => self.call_over_stdio(wire, request, patience).await?,
            None => Box::pin(self.call_over_http(request, patience)).await?,
        };
        match answer {
            Ok(result) => {
                request.wire_log.record_answer(&request.key, &result);
                tool_output::output(&request.tool, &result, &request.redact)
                    .map_err(CallError::Failed)
            }
            Err(ServiceError::McpError(error)) => {
                let answer = serde_json::json!({"error": &error}).to_string();
                request.wire_log.record_answer(&request.key, &answer);
                let fault = ServiceError::McpError(error);
                Err(CallError::Failed(
                    self.service_failure(&request.tool, fault).await,
                ))
            }
            Err(fault) => {
                let lost = match was_not_sent(&fault) {
                    true => CallError::NotSent,
                    false => CallError::Failed,
                };
                Err(lost(self.service_failure(&request.tool, fault).await))
            }
        }
    }

    /// Calls through a child's pipes.
    async fn call_over_stdio(
        &self,
        wire: &StdioTransport,
        request: &ToolRequest,
        patience: CallDeadlines,
    ) -> Result<Result<String, ServiceError>, CallError> {
        let id = wire.next_id();
        let body = request.to_json(id, &self.request_meta);
        request.wire_log.record_request(&request.key, &body);
        let Ok(mut asked) = wire.send_call(id, &body) else {
            let fault = ServiceError::TransportClosed;
            let failure = self.service_failure(&request.tool, fault).await;
            // A server that accepts no input and does not exit is useless, so it is stopped.
            self.stop.cancel();
            return Err(CallError::NotSent(failure));
        };
        let number = NumberOrString::Number(id);
        let sent = SentRequest::new(&self.peer, number.clone(), ProgressToken(number));
        match self
            .wait_for_answer(request, sent, &mut asked.answer, patience)
            .await?
        {
            Some(CallAnswer::Result(text)) => Ok(Ok(text)),
            Some(CallAnswer::Error(error)) => Ok(Err(ServiceError::McpError(error))),
            Some(CallAnswer::Invalid) => Err(CallError::Failed(tool_output::bad_answer(
                &request.tool,
                "returned neither a result nor an error",
            ))),
            None => Ok(Err(ServiceError::TransportClosed)),
        }
    }

    /// Calls through the MCP library, over HTTP.
    async fn call_over_http(
        &self,
        request: &ToolRequest,
        patience: CallDeadlines,
    ) -> Result<Result<String, ServiceError>, CallError> {
        let built = request.to_library_request();
        let body = serde_json::to_string(&built).unwrap_or_default();
        request.wire_log.record_request(&request.key, &body);
        let options = PeerRequestOptions::no_options();
        let sending = self.peer.send_request_with_option(built, options);
        let mut handle = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(CallError::Failed(request.cancelled_failure())),
            sent = sending => sent.map_err(|_| CallError::Unsent)?,
            () = tokio::time::sleep_until(patience.next) => {
                return Err(CallError::TimedOut(request.timeout_failure(patience)));
            }
        };
        let token = handle.progress_token.clone();
        let sent = SentRequest::new(&handle.peer, handle.id.clone(), token);
        let answer = self
            .wait_for_answer(request, sent, &mut handle.rx, patience)
            .await?;
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        Ok(answer.map(|result| serde_json::to_string(&result).unwrap_or_default()))
    }

    /// Waits for an answer; `None` if the connection ended first.
    async fn wait_for_answer<T>(
        &self,
        request: &ToolRequest,
        mut sent: SentRequest<'_>,
        answer: &mut oneshot::Receiver<T>,
        mut patience: CallDeadlines,
    ) -> Result<Option<T>, CallError> {
        let mut alarm = self.timers.take();
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
                    sent.cancel_now().await;
                    return Err(CallError::Failed(request.cancelled_failure()));
                }
                () = routed.route.progressed.notified() => patience.extend(),
                () = alarm.wait_until(patience.next) => {
                    return Err(CallError::TimedOut(request.timeout_failure(patience)));
                }
            }
        }
    }

    async fn service_failure(&self, tool: &ToolName, fault: ServiceError) -> Failure {
        match fault {
            ServiceError::McpError(error) if self.is_lost_session(&error) => {
                self.stop.cancel();
                unreachable(
                    tool,
                    &format!("it does not recognize our session: {}", error.message),
                )
            }
            ServiceError::McpError(error) => tool_output::rpc_error_failure(tool, error),
            ServiceError::TransportClosed => match self.wait_for_end().await {
                Some(ending) => ending.failure(tool),
                None => unreachable(tool, "the connection closed during the call"),
            },
            // Over HTTP only this request is certainly lost; if it was the only one, the next call opens a new
            // connection. A status that blames the request comes from a server that works. A child that does not
            // accept its input is exiting.
            ServiceError::TransportSend(error) if self.pid.is_none() => {
                let is_last = self.running.load(Ordering::Relaxed) <= 1;
                if is_last && !blames_request(error.error.as_ref()) {
                    self.stop.cancel();
                }
                unreachable(tool, &error_chain(error.error.as_ref()))
            }
            ServiceError::TransportSend(error) => match self.wait_for_end().await {
                Some(ending) => ending.failure(tool),
                None => unreachable(tool, &error_chain(error.error.as_ref())),
            },
            other => Failure::new(FailureKind::BadAnswer, format!("{tool}: {other}")),
        }
    }

    /// A restarted server does not know its earlier sessions. Many servers report that with an error of their
    /// own instead of the status that the protocol requires.
    fn is_lost_session(&self, error: &ErrorData) -> bool {
        let codes = [-32_000, -32_001, ErrorCode::INVALID_REQUEST.0];
        self.pid.is_none()
            && self.era == Era::Legacy
            && codes.contains(&error.code.0)
            && error.message.to_ascii_lowercase().contains("session")
    }

    /// Makes new calls wait. Returns true for the first caller, which must then call [`Self::probe`].
    pub(super) fn mark_unresponsive(&self) -> bool {
        !self.unresponsive.send_replace(true)
    }

    /// After a call got no answer, checks whether the server responds at all. Closes the connection if it does
    /// not and no other call is running.
    pub(super) async fn probe(&self, patience: Duration) {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        // Any answer will do: newer protocol versions have no ping and return an error.
        let alive = tokio::time::timeout(patience, self.peer.send_request(ping)).await;
        if alive.is_err() && self.running.load(Ordering::Relaxed) == 0 {
            self.stop.cancel();
        }
        self.unresponsive.send_replace(false);
    }
}

/// Whether an HTTP request certainly never reached a tool: the connection failed, or the request was rejected
/// before dispatch.
fn was_not_sent(fault: &ServiceError) -> bool {
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

/// Whether a server answered a request with a status that blames the request: its credentials, or too many of them.
fn blames_request(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        match current.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(
                StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_),
            ) => return true,
            Some(StreamableHttpError::HttpStatus(status)) => {
                return (400..500).contains(&status.status);
            }
            Some(_) | None => {}
        }
        cause = current.source();
    }
    false
}

fn unreachable(tool: &ToolName, why: &str) -> Failure {
    let message = format!("cannot reach server `{}`: {why}", tool.server);
    Failure::new(FailureKind::Unavailable, message)
}

/// An error with its chain of causes.
pub(super) fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
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
    without_error_numbers(&words)
}

/// Counts a call as running and records when the last one ended.
struct RunningCall<'a>(&'a ServerConnection);

impl<'a> RunningCall<'a> {
    fn new(connection: &'a ServerConnection) -> Self {
        connection.running.fetch_add(1, Ordering::Relaxed);
        Self(connection)
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_used_ms.store(now, Ordering::Relaxed);
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request that was sent. The server gets a cancellation when the call stops waiting, whether it was
/// cancelled, timed out, or dropped with the run.
struct SentRequest<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
    token: ProgressToken,
}

impl<'a> SentRequest<'a> {
    fn new(peer: &'a Peer<RoleClient>, id: RequestId, token: ProgressToken) -> Self {
        let id = Some(id);
        Self { peer, id, token }
    }

    fn disarm(&mut self) {
        self.id = None;
    }

    /// Sends the cancellation now, for callers that may close the connection next.
    async fn cancel_now(&mut self) {
        if let Some(id) = self.id.clone() {
            send_cancellation(self.peer, id).await;
            self.disarm();
        }
    }
}

async fn send_cancellation(peer: &Peer<RoleClient>, id: RequestId) {
    let why = "the caller no longer waits for the result".to_owned();
    let params = CancelledNotificationParam::new(Some(id), Some(why));
    let notice = ClientNotification::from(CancelledNotification::new(params));
    let _ = tokio::time::timeout(CANCEL_SEND_MAX, peer.send_notification(notice)).await;
}

impl Drop for SentRequest<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move { send_cancellation(&peer, id).await });
    }
}
