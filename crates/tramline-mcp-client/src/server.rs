//! One configured server: started on first use, shared by all runs, restarted after a crash.

use super::ClientOptions;
use super::connect::{OpenedConnection, connect};
use super::connection::{CallError, Era, ServerConnection};
use super::failure_marks::{mark_not_sent, mark_sent, with_backoff};
use super::request::{CallDeadlines, ToolRequest};
use super::stderr::StderrTail;
use super::supervisor::{self, ConnectionEnd, EndCause};
use super::tool_list::{self, ServerToolList};
use super::wire_log::WireLog;
use crate::config::ServerConfig;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tramline_engine::ports::{ListedTools, ServerSource, Tool, ToolCallRequest};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

mod status;

/// How long a call waits for the next attempt to start a server that failed to start. If the attempt is later,
/// the call fails at once and says when: the attempt is likely to fail as well.
const BACKOFF_WAIT_MAX: Duration = Duration::from_secs(2);

/// A listing newer than this is not repeated when a tool is missing from it.
const LISTING_FRESH: Duration = Duration::from_secs(1);

/// A server that was removed from the configuration is stopped after this time, even if calls still run.
const RETIRE_MAX: Duration = Duration::from_secs(10 * 60);

/// One configured server.
pub(super) struct SupervisedServer {
    config: ServerConfig,
    options: Arc<ClientOptions>,
    phase: watch::Sender<ServerPhase>,
    /// Consecutive crashes without a stable period in between.
    crashes: AtomicU32,
    era: Mutex<Option<Era>>,
    tools: RwLock<Arc<ServerToolList>>,
    /// Held while a missing tool is looked up, so that many calls list only once.
    lookup_lock: tokio::sync::Mutex<()>,
    wire_log: Arc<WireLog>,
    /// Stderr of its latest process.
    stderr: Mutex<Option<StderrTail>>,
    max_concurrent: u32,
    slots: Semaphore,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// Lifecycle phase of a server. Changes only under the channel's lock.
enum ServerPhase {
    Idle,
    Starting(Instant),
    Ready(Arc<ServerConnection>),
    BackingOff {
        until: Instant,
        failure: Failure,
        /// Whether it was ready before it crashed: then a restart is likely to succeed.
        was_ready: bool,
    },
}

/// What a caller that needs a connection does next.
enum ConnectStep {
    Use(Arc<ServerConnection>),
    Fail(Failure),
    Sleep(Instant),
    Wait,
    Start,
}

impl SupervisedServer {
    pub(super) fn new(
        config: ServerConfig,
        options: Arc<ClientOptions>,
        wire_log: Arc<WireLog>,
        closing: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let max_concurrent = config
            .max_concurrent
            .unwrap_or(options.max_concurrent)
            .max(1);
        Self {
            config,
            options,
            phase: watch::Sender::new(ServerPhase::Idle),
            crashes: AtomicU32::new(0),
            era: Mutex::new(None),
            tools: RwLock::default(),
            lookup_lock: tokio::sync::Mutex::default(),
            wire_log,
            stderr: Mutex::default(),
            max_concurrent,
            slots: Semaphore::new(max_concurrent as usize),
            closing,
            tasks,
        }
    }

    pub(super) fn name(&self) -> &Str {
        &self.config.name
    }

    pub(super) fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Stops the server when its running calls are done. It gets no new ones.
    pub(super) async fn retire(self: Arc<Self>) {
        let all = self.slots.acquire_many(self.max_concurrent);
        tokio::select! {
            _ = tokio::time::timeout(RETIRE_MAX, all) => {}
            () = self.closing.cancelled() => {}
        }
        self.closing.cancel();
    }

    /// The last stderr lines of its latest process.
    pub(super) fn stderr(&self) -> Vec<String> {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        tail.as_ref()
            .map(StderrTail::last_lines)
            .unwrap_or_default()
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        self.config.idle_timeout_ms.map(Duration::from_millis)
    }

    pub(super) fn stop_grace(&self) -> Duration {
        self.options.stop_grace
    }

    pub(super) fn tools(&self) -> Arc<ServerToolList> {
        let catalog = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&catalog)
    }

    fn set_tools(&self, catalog: ServerToolList) {
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    /// Calls a tool: acquires a slot and a connection, looks up the tool, then sends the call.
    pub(super) async fn call(self: &Arc<Self>, call: ToolCallRequest) -> Result<Value, Failure> {
        let (request, patience) = self.request(call)?;
        let slot = self.within_deadline(&request, patience, self.slots.acquire());
        let _slot = slot.await.map_err(mark_not_sent)?;
        // A connection may close between being handed out and being used; a call that was not sent is tried
        // once more.
        for _ in 0..2 {
            let ready = self.connection_with_tool(&request.tool, patience.next);
            let ready = self.within_deadline(&request, patience, ready);
            let connection = ready.await.flatten().map_err(mark_not_sent)?;
            match connection.call(&request, patience).await {
                Ok(value) => return Ok(value),
                Err(CallError::Unsent) => {}
                Err(CallError::Failed(failure)) => return Err(mark_sent(failure)),
                Err(CallError::NotSent(failure)) => return Err(mark_not_sent(failure)),
                Err(CallError::TimedOut(failure)) => {
                    let patience = self.options.ping_timeout;
                    if connection.mark_unresponsive() {
                        let probing = async move { connection.probe(patience).await };
                        self.tasks.spawn(probing);
                    }
                    return Err(mark_sent(failure));
                }
            }
        }
        Err(mark_not_sent(self.unavailable(
            "closed the connection before the call could be sent",
        )))
    }

    fn request(&self, call: ToolCallRequest) -> Result<(ToolRequest, CallDeadlines), Failure> {
        if !matches!(call.arguments, Value::Object(_) | Value::Null) {
            let kind = call.arguments.kind();
            let message = format!(
                "the arguments of {} must be an object, not {kind}",
                call.tool
            );
            return Err(Failure::new(FailureKind::BadArguments, message));
        }
        let own = self.config.timeout_ms.map(Duration::from_millis);
        let idle = own.map_or(call.timeout, |own| own.min(call.timeout));
        let request = ToolRequest {
            tool: call.tool,
            arguments: call.arguments,
            key: call.key,
            cancel: call.cancel,
            progress: call.progress,
            wire_log: Arc::clone(&self.wire_log),
            redact: self.options.redact.clone(),
            upstream: call.upstream,
        };
        Ok((
            request,
            CallDeadlines::new(idle, self.options.call_total_max),
        ))
    }

    /// Runs a part of a call that precedes sending the request.
    async fn within_deadline<T>(
        &self,
        request: &ToolRequest,
        patience: CallDeadlines,
        part: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = request.cancel.cancelled() => Err(request.cancelled_failure()),
            done = part => Ok(done),
            () = tokio::time::sleep_until(patience.next) => {
                let says = format!("was not ready for {} in {:?}", request.tool, patience.idle);
                let message = format!("server `{}` {says}", self.name());
                Err(Failure::new(FailureKind::Timeout, message))
            }
        }
    }

    async fn connection_with_tool(
        self: &Arc<Self>,
        name: &ToolName,
        until: Instant,
    ) -> Result<Arc<ServerConnection>, Failure> {
        let mut connection = self.connection(until).await?;
        connection.wait_responsive().await;
        if !connection.is_open() {
            connection = self.connection(until).await?;
        }
        if self.tools().get(&name.tool).is_none() {
            Box::pin(self.find_or_list(&connection, name)).await?;
        }
        Ok(connection)
    }

    /// Finds the tool in the last listing or in a new one.
    pub(super) async fn find(self: &Arc<Self>, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        if let Some(tool) = self.tools().get(&name.tool) {
            return Ok(tool);
        }
        let connection = self.connection(Instant::now() + BACKOFF_WAIT_MAX).await?;
        self.find_or_list(&connection, name).await
    }

    /// All tools of the server.
    pub(super) async fn list_tools(self: &Arc<Self>) -> ListedTools {
        self.connection(Instant::now() + BACKOFF_WAIT_MAX).await?;
        Ok(Arc::clone(&self.tools().tools))
    }

    /// The tools known without asking the server.
    pub(super) fn source(&self) -> ServerSource {
        let catalog = self.tools();
        ServerSource {
            server: self.name().clone(),
            fingerprint: Some(self.config.fingerprint()),
            tools: catalog.listed_at.map(|_| Arc::clone(&catalog.tools)),
        }
    }

    async fn find_or_list(
        &self,
        connection: &ServerConnection,
        name: &ToolName,
    ) -> Result<Arc<Tool>, Failure> {
        let _looking = self.lookup_lock.lock().await;
        let catalog = self.tools();
        if let Some(tool) = catalog.get(&name.tool) {
            return Ok(tool);
        }
        if catalog
            .listed_at
            .is_none_or(|at| at.elapsed() > LISTING_FRESH)
        {
            self.relist(connection).await;
        }
        let catalog = self.tools();
        let tool = catalog.get(&name.tool);
        tool.ok_or_else(|| catalog.unknown_name(name))
    }

    /// Lists the tools again. If that fails, the old list remains.
    pub(super) async fn relist(&self, connection: &ServerConnection) {
        let listing =
            tool_list::list_tools(self.name(), &connection.peer, &self.options.redact_tool);
        if let Ok(Ok(newer)) = tokio::time::timeout(self.options.start_timeout, listing).await {
            self.set_tools(newer);
        }
    }

    /// Returns the connection, opening it if needed. Concurrent callers wait for the same one. A server that
    /// crashed is waited for if its next start comes before `patience` ends.
    async fn connection(
        self: &Arc<Self>,
        patience: Instant,
    ) -> Result<Arc<ServerConnection>, Failure> {
        if let ServerPhase::Ready(connection) = &*self.phase.borrow()
            && connection.is_open()
        {
            return Ok(Arc::clone(connection));
        }
        let mut phases = self.phase.subscribe();
        let mut waited = false;
        loop {
            // Marked as seen before it is inspected, so that a change in between wakes us.
            waited |= matches!(&*phases.borrow_and_update(), ServerPhase::Starting(_));
            match self.next_step(waited, patience) {
                ConnectStep::Use(connection) => return Ok(connection),
                ConnectStep::Fail(failure) => return Err(failure),
                ConnectStep::Sleep(until) => tokio::select! {
                    () = tokio::time::sleep_until(until) => {}
                    () = self.closing.cancelled() => {}
                },
                ConnectStep::Start => {
                    self.tasks.spawn(Arc::clone(self).start());
                }
                ConnectStep::Wait => {
                    let _ = phases.changed().await;
                }
            }
        }
    }

    /// Decides what to do next, and claims the start for the caller if one is due. A caller that waited for a
    /// failed start gets that failure and does not wait for another start.
    fn next_step(&self, waited: bool, patience: Instant) -> ConnectStep {
        if self.closing.is_cancelled() {
            return ConnectStep::Fail(self.unavailable("was shut down"));
        }
        if self.config.disabled {
            return ConnectStep::Fail(self.unavailable("is disabled in the configuration"));
        }
        if let Err(why) = (self.options.permit)(&self.config) {
            let message = format!("server `{}` {why}", self.name());
            return ConnectStep::Fail(Failure::new(FailureKind::Forbidden, message));
        }
        let mut step = ConnectStep::Wait;
        self.phase.send_if_modified(|phase| {
            let now = Instant::now();
            step = match phase {
                ServerPhase::Ready(connection) if connection.is_open() => {
                    ConnectStep::Use(Arc::clone(connection))
                }
                ServerPhase::Ready(_) | ServerPhase::Starting(_) => ConnectStep::Wait,
                ServerPhase::BackingOff { failure, .. } if waited => {
                    ConnectStep::Fail(failure.clone())
                }
                ServerPhase::BackingOff { until, .. } if *until <= now => ConnectStep::Start,
                ServerPhase::BackingOff {
                    until, was_ready, ..
                } if should_wait(*until, *was_ready, now, patience) => ConnectStep::Sleep(*until),
                ServerPhase::BackingOff { until, failure, .. } => {
                    ConnectStep::Fail(with_backoff(failure, *until - now))
                }
                ServerPhase::Idle => ConnectStep::Start,
            };
            let starts = matches!(step, ConnectStep::Start);
            if starts {
                *phase = ServerPhase::Starting(now);
            }
            starts
        });
        step
    }

    /// Opens a connection and hands it to its supervisor. Runs as its own task, so that a caller that gives up
    /// does not cancel the start.
    async fn start(self: Arc<Self>) {
        let _watch = PanicGuard(Arc::clone(&self));
        let closing = self.closing.clone();
        let opening = Box::pin(self.connect());
        let opened = tokio::select! {
            opened = opening => opened,
            () = closing.cancelled() => Err(self.unavailable("was shut down")),
        };
        match opened {
            Ok((opened, catalog)) => {
                let (ended, word) = watch::channel(None);
                let peer = opened.service.peer().clone();
                let pid = opened.child.as_ref().and_then(|(process, _)| process.id());
                let tail = opened.child.as_ref().map(|(process, _)| process.tail());
                *self.stderr.lock().unwrap_or_else(PoisonError::into_inner) = tail;
                let handler = opened.service.service();
                let wire = opened.wire.clone();
                let connection = ServerConnection::new(peer, opened.era, pid, handler, wire, word);
                let connection = Arc::new(connection);
                self.set_tools(catalog);
                self.phase
                    .send_replace(ServerPhase::Ready(Arc::clone(&connection)));
                supervisor::watch(self, connection, opened, ended).await;
            }
            Err(failure) => self.back_off(failure, false),
        }
    }

    async fn connect(&self) -> Result<(OpenedConnection, ServerToolList), Failure> {
        let remembered = *self.era.lock().unwrap_or_else(PoisonError::into_inner);
        let at_once = self.max_concurrent as usize;
        let opened = connect(&self.config, &self.options, at_once, remembered).await?;
        *self.era.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.era);
        let listing = tool_list::list_tools(
            self.name(),
            opened.service.peer(),
            &self.options.redact_tool,
        );
        let why = match tokio::time::timeout(self.options.start_timeout, listing).await {
            Ok(Ok(catalog)) => return Ok((opened, catalog)),
            Ok(Err(fault)) => format!("could not list its tools: {fault}"),
            Err(_) => format!("did not list its tools in {:?}", self.options.start_timeout),
        };
        Err(self.unavailable(&why))
    }

    /// Records the end of a connection.
    pub(super) fn record_end(&self, connection: &ServerConnection, ending: &ConnectionEnd) {
        match ending.cause {
            EndCause::ShutDown | EndCause::Idle => {
                self.phase.send_replace(ServerPhase::Idle);
            }
            EndCause::Died | EndCause::LimitExceeded => {
                if connection.since.elapsed() >= self.options.stable_after {
                    self.crashes.store(0, Ordering::Relaxed);
                }
                self.back_off(ending.unavailable(), true);
            }
        }
    }

    /// Enters backoff after a crash: twice the previous wait, up to a maximum. There is no limit on attempts.
    fn back_off(&self, failure: Failure, was_ready: bool) {
        let falls = self.crashes.fetch_add(1, Ordering::Relaxed).min(16);
        let rest = self.options.backoff_first * 2_u32.pow(falls);
        let until = Instant::now() + rest.min(self.options.backoff_max);
        self.phase.send_replace(ServerPhase::BackingOff {
            until,
            failure,
            was_ready,
        });
    }

    fn unavailable(&self, says: &str) -> Failure {
        let message = format!("server `{}` {says}", self.name());
        Failure::new(FailureKind::Unavailable, message)
    }
}

/// Whether a call waits for an attempt that is due at `until`. A server that was ready before it crashed is
/// waited for as long as the call has time; one that failed to start only briefly.
fn should_wait(until: Instant, was_ready: bool, now: Instant, patience: Instant) -> bool {
    let soon = until.saturating_duration_since(now) <= BACKOFF_WAIT_MAX;
    soon || (was_ready && until < patience)
}

/// Prevents callers from waiting for a start or a supervisor that panicked.
struct PanicGuard(Arc<SupervisedServer>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failure = self
                .0
                .unavailable("is unavailable: its supervisor panicked");
            self.0.back_off(failure, false);
        }
    }
}
