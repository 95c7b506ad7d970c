//! One configured server: started when first needed, shared by all, started again when it fell.

use super::Options;
use super::catalog::{self, Catalog};
use super::connection::{Connection, Era, Lost};
use super::exchanges::Exchanges;
use super::failures::{resting, sent, unsent};
use super::open::{Opened, open};
use super::request::{Patience, Request};
use super::stderr::Tail;
use super::supervise::{self, Cause, Ending};
use crate::config::ServerConfig;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};
use tramline_engine::seams::{Call, Listed, Source, Tool};

mod status;

/// So long a call waits for the next attempt at a server that could not be started. For a later one it
/// fails at once and says when: the next attempt is likely to fail as well.
const REST_WAIT_MAX: Duration = Duration::from_secs(2);

/// A listing younger than this is not asked for again because a tool is missing from it.
const LISTING_FRESH: Duration = Duration::from_secs(1);

/// A server that is no longer configured ends after so long, whatever it is still doing.
const RETIRE_MAX: Duration = Duration::from_secs(10 * 60);

/// One configured server.
pub(super) struct Server {
    config: ServerConfig,
    options: Arc<Options>,
    phase: watch::Sender<Phase>,
    /// Falls in a row without a stable time between.
    falls: AtomicU32,
    era: Mutex<Option<Era>>,
    catalog: RwLock<Arc<Catalog>>,
    /// Held while a missing tool is looked for, so that many calls ask but once.
    looking: tokio::sync::Mutex<()>,
    exchanges: Arc<Exchanges>,
    /// What its latest process wrote beside its answers.
    stderr: Mutex<Option<Tail>>,
    at_once: u32,
    slots: Semaphore,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// Where a server stands. Changes only under the channel's lock.
enum Phase {
    Idle,
    Starting(Instant),
    Ready(Arc<Connection>),
    Resting {
        until: Instant,
        failure: Failure,
        /// Whether it had been ready before it fell: then it is likely to be so again.
        was_ready: bool,
    },
}

/// What a caller who wants a connection does next.
enum Step {
    Go(Arc<Connection>),
    Fail(Failure),
    Rest(Instant),
    Wait,
    Start,
}

impl Server {
    pub(super) fn new(
        config: ServerConfig,
        options: Arc<Options>,
        exchanges: Arc<Exchanges>,
        closing: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let at_once = config
            .max_concurrent
            .unwrap_or(options.max_concurrent)
            .max(1);
        Self {
            config,
            options,
            phase: watch::Sender::new(Phase::Idle),
            falls: AtomicU32::new(0),
            era: Mutex::new(None),
            catalog: RwLock::default(),
            looking: tokio::sync::Mutex::default(),
            exchanges,
            stderr: Mutex::default(),
            at_once,
            slots: Semaphore::new(at_once as usize),
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

    /// Stops the server once the calls that it has are done; no new ones come.
    pub(super) async fn retire(self: Arc<Self>) {
        let all = self.slots.acquire_many(self.at_once);
        tokio::select! {
            _ = tokio::time::timeout(RETIRE_MAX, all) => {}
            () = self.closing.cancelled() => {}
        }
        self.closing.cancel();
    }

    /// The last lines that its latest process wrote beside its answers.
    pub(super) fn stderr(&self) -> Vec<String> {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        tail.as_ref().map(Tail::lines).unwrap_or_default()
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(super) fn idle(&self) -> Option<Duration> {
        self.config.idle_timeout_ms.map(Duration::from_millis)
    }

    pub(super) fn stop_grace(&self) -> Duration {
        self.options.stop_grace
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&catalog)
    }

    fn set_catalog(&self, catalog: Catalog) {
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    /// Calls a tool: a slot, a connection, a look at the list, then the call itself.
    pub(super) async fn call(self: &Arc<Self>, call: Call) -> Result<Value, Failure> {
        let (request, patience) = self.request(call)?;
        let slot = self.in_time(&request, patience, self.slots.acquire());
        let _slot = slot.await.map_err(unsent)?;
        // A connection may fall between being handed out and being used; what never left is sent
        // once more.
        for _ in 0..2 {
            let ready = self.ready_for(&request.tool, patience.until);
            let ready = self.in_time(&request, patience, ready);
            let connection = ready.await.flatten().map_err(unsent)?;
            match connection.call(&request, patience).await {
                Ok(value) => return Ok(value),
                Err(Lost::Unsent) => {}
                Err(Lost::Failed(failure)) => return Err(sent(failure)),
                Err(Lost::Held(failure)) => return Err(unsent(failure)),
                Err(Lost::Silent(failure)) => {
                    let patience = self.options.ping_timeout;
                    if connection.doubt() {
                        let probing = async move { connection.probe(patience).await };
                        self.tasks.spawn(probing);
                    }
                    return Err(sent(failure));
                }
            }
        }
        Err(unsent(self.down("went away before anything could be sent")))
    }

    fn request(&self, call: Call) -> Result<(Request, Patience), Failure> {
        if !matches!(call.arguments, Value::Object(_) | Value::Null) {
            let kind = call.arguments.kind();
            let message = format!("{} takes an object of arguments, not {kind}", call.tool);
            return Err(Failure::new(FailureKind::BadArguments, message));
        }
        let own = self.config.timeout_ms.map(Duration::from_millis);
        let idle = own.map_or(call.timeout, |own| own.min(call.timeout));
        let request = Request {
            tool: call.tool,
            arguments: call.arguments,
            key: call.key,
            cancel: call.cancel,
            progress: call.progress,
            exchanges: Arc::clone(&self.exchanges),
            upstream: call.upstream,
        };
        Ok((request, Patience::new(idle, self.options.call_total_max)))
    }

    /// Runs a part of a call that comes before the request leaves.
    async fn in_time<T>(
        &self,
        request: &Request,
        patience: Patience,
        part: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = request.cancel.cancelled() => Err(request.cancelled()),
            done = part => Ok(done),
            () = tokio::time::sleep_until(patience.until) => {
                let says = format!("was not ready for {} in {:?}", request.tool, patience.idle);
                let message = format!("server `{}` {says}", self.name());
                Err(Failure::new(FailureKind::Timeout, message))
            }
        }
    }

    async fn ready_for(
        self: &Arc<Self>,
        name: &ToolName,
        until: Instant,
    ) -> Result<Arc<Connection>, Failure> {
        let mut connection = self.connection(until).await?;
        connection.settled().await;
        if !connection.is_open() {
            connection = self.connection(until).await?;
        }
        if self.catalog().get(&name.tool).is_none() {
            Box::pin(self.look(&connection, name)).await?;
        }
        Ok(connection)
    }

    /// The tool, from the last listing or from a new one.
    pub(super) async fn find(self: &Arc<Self>, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        if let Some(tool) = self.catalog().get(&name.tool) {
            return Ok(tool);
        }
        let connection = self.connection(Instant::now() + REST_WAIT_MAX).await?;
        self.look(&connection, name).await
    }

    /// Every tool the server has.
    pub(super) async fn listed(self: &Arc<Self>) -> Listed {
        self.connection(Instant::now() + REST_WAIT_MAX).await?;
        Ok(Arc::clone(&self.catalog().all))
    }

    /// What is known of its tools without asking it.
    pub(super) fn source(&self) -> Source {
        let catalog = self.catalog();
        Source {
            server: self.name().clone(),
            print: Some(self.config.print()),
            tools: catalog.at.map(|_| Arc::clone(&catalog.all)),
        }
    }

    async fn look(&self, connection: &Connection, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        let _looking = self.looking.lock().await;
        let catalog = self.catalog();
        if let Some(tool) = catalog.get(&name.tool) {
            return Ok(tool);
        }
        if catalog.at.is_none_or(|at| at.elapsed() > LISTING_FRESH) {
            self.relist(connection).await;
        }
        let catalog = self.catalog();
        let tool = catalog.get(&name.tool);
        tool.ok_or_else(|| catalog.unknown(name))
    }

    /// Lists the tools anew. Where that fails the old list stands.
    pub(super) async fn relist(&self, connection: &Connection) {
        let listing = catalog::list(self.name(), &connection.peer, &self.options.redact_tool);
        if let Ok(Ok(newer)) = tokio::time::timeout(self.options.start_timeout, listing).await {
            self.set_catalog(newer);
        }
    }

    /// The connection, opened if need be. All who ask while it opens wait for the same one. A server
    /// that fell is waited for if its next start comes before `patience` ends.
    async fn connection(self: &Arc<Self>, patience: Instant) -> Result<Arc<Connection>, Failure> {
        if let Phase::Ready(connection) = &*self.phase.borrow()
            && connection.is_open()
        {
            return Ok(Arc::clone(connection));
        }
        let mut phases = self.phase.subscribe();
        let mut waited = false;
        loop {
            // Seen before it is judged: a change in between is then not slept through.
            waited |= matches!(&*phases.borrow_and_update(), Phase::Starting(_));
            match self.step(waited, patience) {
                Step::Go(connection) => return Ok(connection),
                Step::Fail(failure) => return Err(failure),
                Step::Rest(until) => tokio::select! {
                    () = tokio::time::sleep_until(until) => {}
                    () = self.closing.cancelled() => {}
                },
                Step::Start => {
                    self.tasks.spawn(Arc::clone(self).start());
                }
                Step::Wait => {
                    let _ = phases.changed().await;
                }
            }
        }
    }

    /// Decides what to do next, and takes the start upon the caller if one is due. Whoever has
    /// waited for a start that failed is told of that one, and does not wait for another.
    fn step(&self, waited: bool, patience: Instant) -> Step {
        if self.closing.is_cancelled() {
            return Step::Fail(self.down("was shut down"));
        }
        if self.config.disabled {
            return Step::Fail(self.down("is disabled in the configuration"));
        }
        if let Err(why) = (self.options.permit)(&self.config) {
            let message = format!("server `{}` {why}", self.name());
            return Step::Fail(Failure::new(FailureKind::Forbidden, message));
        }
        let mut step = Step::Wait;
        self.phase.send_if_modified(|phase| {
            let now = Instant::now();
            step = match phase {
                Phase::Ready(connection) if connection.is_open() => {
                    Step::Go(Arc::clone(connection))
                }
                Phase::Ready(_) | Phase::Starting(_) => Step::Wait,
                Phase::Resting { failure, .. } if waited => Step::Fail(failure.clone()),
                Phase::Resting { until, .. } if *until <= now => Step::Start,
                Phase::Resting {
                    until, was_ready, ..
                } if is_awaited(*until, *was_ready, now, patience) => Step::Rest(*until),
                Phase::Resting { until, failure, .. } => Step::Fail(resting(failure, *until - now)),
                Phase::Idle => Step::Start,
            };
            let starts = matches!(step, Step::Start);
            if starts {
                *phase = Phase::Starting(now);
            }
            starts
        });
        step
    }

    /// Opens a connection and hands it to its supervisor; runs on its own, so that a caller who
    /// gives up does not take the start with it.
    async fn start(self: Arc<Self>) {
        let _watch = Watch(Arc::clone(&self));
        let closing = self.closing.clone();
        let opening = Box::pin(self.open());
        let opened = tokio::select! {
            opened = opening => opened,
            () = closing.cancelled() => Err(self.down("was shut down")),
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
                let connection = Connection::new(peer, opened.era, pid, handler, wire, word);
                let connection = Arc::new(connection);
                self.set_catalog(catalog);
                self.phase
                    .send_replace(Phase::Ready(Arc::clone(&connection)));
                supervise::watch(self, connection, opened, ended).await;
            }
            Err(failure) => self.rest(failure, false),
        }
    }

    async fn open(&self) -> Result<(Opened, Catalog), Failure> {
        let remembered = *self.era.lock().unwrap_or_else(PoisonError::into_inner);
        let at_once = self.at_once as usize;
        let opened = open(&self.config, &self.options, at_once, remembered).await?;
        *self.era.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.era);
        let listing = catalog::list(
            self.name(),
            opened.service.peer(),
            &self.options.redact_tool,
        );
        let why = match tokio::time::timeout(self.options.start_timeout, listing).await {
            Ok(Ok(catalog)) => return Ok((opened, catalog)),
            Ok(Err(fault)) => format!("could not list its tools: {fault}"),
            Err(_) => format!("did not list its tools in {:?}", self.options.start_timeout),
        };
        Err(self.down(&why))
    }

    /// Takes note of a connection's end.
    pub(super) fn ended(&self, connection: &Connection, ending: &Ending) {
        match ending.cause {
            Cause::Closed | Cause::Unused => {
                self.phase.send_replace(Phase::Idle);
            }
            Cause::Died | Cause::Broke => {
                if connection.since.elapsed() >= self.options.stable_after {
                    self.falls.store(0, Ordering::Relaxed);
                }
                self.rest(ending.down(), true);
            }
        }
    }

    /// After a fall: waits twice as long as after the one before, within bounds, and for ever
    /// ready to try again.
    fn rest(&self, failure: Failure, was_ready: bool) {
        let falls = self.falls.fetch_add(1, Ordering::Relaxed).min(16);
        let rest = self.options.rest_first * 2_u32.pow(falls);
        let until = Instant::now() + rest.min(self.options.rest_max);
        self.phase.send_replace(Phase::Resting {
            until,
            failure,
            was_ready,
        });
    }

    fn down(&self, says: &str) -> Failure {
        let message = format!("server `{}` {says}", self.name());
        Failure::new(FailureKind::Unavailable, message)
    }
}

/// Whether a call waits for an attempt that comes at `until`. What worked until it fell is waited for as
/// long as the call has time; what could not be started only for a moment.
fn is_awaited(until: Instant, was_ready: bool, now: Instant, patience: Instant) -> bool {
    let soon = until.saturating_duration_since(now) <= REST_WAIT_MAX;
    soon || (was_ready && until < patience)
}

/// Sees to it that nobody waits for a start or a supervision that panicked.
struct Watch(Arc<Server>);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failure = self.0.down("is gone: its supervision broke down");
            self.0.rest(failure, false);
        }
    }
}
