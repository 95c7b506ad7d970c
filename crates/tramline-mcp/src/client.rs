//! Downstream MCP servers as [`Tools`]: started when first needed, shared by all runs, watched,
//! and never left behind.
//!
//! [`Servers`] finds the server; [`pool`] keeps one server going; [`connection`] carries one call;
//! [`supervise`] sees to a connection's end. Whatever a server does, a call ends in a value or a
//! [`Failure`], in bounded time and memory, and the next call has a server to go to.

mod alarms;
mod catalog;
mod connection;
mod content;
mod exchanges;
mod failures;
#[doc(hidden)]
pub mod framing;
mod handler;
mod http;
mod http_client;
mod lines;
mod open;
mod pool;
mod request;
mod stderr;
mod stdio;
mod supervise;
mod wire;

pub use connection::Era;

use crate::config::{Reach, ServerConfig};
use async_trait::async_trait;
use exchanges::Exchanges;
use futures_util::future::join_all;
use pool::Server;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tramline_core::failure::Failure;
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};
use tramline_engine::seams::{Call, Exchange, Listed, Listing, Source, Tool, Tools};

/// An answer longer than this is refused: as much as the HTTP transport takes in one event, and
/// far more than belongs in a journal.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A start takes no longer: a cold `npx` fetches packages first.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A call that keeps showing signs of progress still ends here.
pub const CALL_TOTAL_MAX: Duration = Duration::from_secs(60 * 60);

/// Calls of one server at once, where its configuration does not say: more than a wide layer
/// holds, fewer than would drown a server.
pub const MAX_CONCURRENT: u32 = 64;

/// Gives the value of an environment variable.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Takes what may not be seen out of a text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Takes what may not be seen out of what a server says of a tool.
pub type RedactTool = Arc<dyn Fn(Tool) -> Option<Tool> + Send + Sync>;

/// Says why a server may not be started or reached, if so.
pub type Permit = Arc<dyn Fn(&ServerConfig) -> Result<(), String> + Send + Sync>;

/// The bounds within which servers are kept.
#[derive(Clone)]
pub struct Options {
    /// Asked before a server is started or reached, each time.
    pub permit: Permit,
    /// Where `${VAR}` and the few inherited variables come from.
    pub lookup: Lookup,
    /// Takes secrets out of what servers write beside their answers, before any of it is cut.
    pub redact: Redact,
    /// Takes secrets out of what a server says of a tool, before it is kept. Nothing for a tool that
    /// cannot be told without one.
    pub redact_tool: RedactTool,
    /// How long a handshake may take, and then a listing.
    pub start_timeout: Duration,
    /// After a call that timed out, how long the server has to show that it still answers.
    pub ping_timeout: Duration,
    /// The longest answer.
    pub answer_bytes_max: usize,
    /// How many of the latest requests are kept with their answers, for whoever looks into a call.
    pub exchanges: usize,
    /// The longest call, however much progress it shows.
    pub call_total_max: Duration,
    /// Calls of one server at once, where its configuration does not say.
    pub max_concurrent: u32,
    /// The wait before the first restart after a fall; it doubles with each fall in a row.
    pub rest_first: Duration,
    /// The longest wait before a restart.
    pub rest_max: Duration,
    /// A server that has lived so long starts counting its falls anew.
    pub stable_after: Duration,
    /// How long a child may take to end itself once its stdin is closed.
    pub stop_grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            permit: Arc::new(|_| Ok(())),
            lookup: Arc::new(|name| std::env::var(name).ok()),
            redact: Arc::new(str::to_owned),
            redact_tool: Arc::new(Some),
            start_timeout: START_TIMEOUT,
            ping_timeout: Duration::from_secs(5),
            answer_bytes_max: ANSWER_BYTES_MAX,
            exchanges: 0,
            call_total_max: CALL_TOTAL_MAX,
            max_concurrent: MAX_CONCURRENT,
            rest_first: Duration::from_millis(100),
            rest_max: Duration::from_secs(30),
            stable_after: Duration::from_secs(30),
            stop_grace: Duration::from_millis(1_500),
        }
    }
}

/// How one server is.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its name in the configuration.
    pub server: Str,
    /// Where it stands.
    pub state: State,
}

/// Where a server stands.
#[derive(Clone, Debug)]
pub enum State {
    /// Nothing has needed it yet, or it was stopped for want of use.
    NotStarted,
    /// The configuration says not to start it.
    Disabled,
    /// It is being started.
    Starting {
        /// For how long.
        since: Duration,
    },
    /// It takes calls.
    Ready {
        /// Its process, if it is a child.
        pid: Option<u32>,
        /// How many tools it lists.
        tools: usize,
        /// Which protocol it speaks.
        era: Era,
        /// For how long.
        since: Duration,
    },
    /// It fell, or could not be started.
    BackingOff {
        /// When it may be tried again; it is, at the next call after that.
        retry_in: Duration,
        /// What happened.
        failure: Failure,
    },
}

/// All configured servers. Dropping this stops them; [`Servers::shutdown`] also waits for that.
pub struct Servers {
    servers: RwLock<BTreeMap<Str, Arc<Server>>>,
    options: Arc<Options>,
    exchanges: Arc<Exchanges>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Servers {
    /// The servers of these configurations; none is started yet. Of two with one name the later
    /// stays.
    pub fn new(configs: impl IntoIterator<Item = ServerConfig>, options: Options) -> Self {
        let servers = Self {
            servers: RwLock::default(),
            exchanges: Arc::new(Exchanges::new(
                options.exchanges,
                Arc::clone(&options.redact),
            )),
            options: Arc::new(options),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        servers.replace(configs);
        servers
    }

    /// Has the servers of these configurations from now on. One whose configuration is the same
    /// goes on as it is; one that is gone or changed is stopped when its calls have ended.
    pub fn replace(&self, configs: impl IntoIterator<Item = ServerConfig>) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *servers);
        for config in configs {
            let name = config.name.clone();
            let same = before.get(&name).is_some_and(|old| *old.config() == config);
            let kept = same.then(|| before.remove(&name)).flatten();
            let server = kept.unwrap_or_else(|| {
                let (options, closing) = (self.options.clone(), self.closing.child_token());
                let kept = Arc::clone(&self.exchanges);
                Arc::new(Server::new(
                    config,
                    options,
                    kept,
                    closing,
                    self.tasks.clone(),
                ))
            });
            servers.insert(name, server);
        }
        drop(servers);
        for old in before.into_values() {
            self.tasks.spawn(old.retire());
        }
    }

    /// One server's tools, or why it cannot be asked; nothing where there is no such server.
    pub async fn list_of(&self, server: &str) -> Option<Result<Vec<Arc<Tool>>, Failure>> {
        let found = self.read().get(server).cloned()?;
        Some(found.listed().await.map(|tools| tools.to_vec()))
    }

    /// How all servers are configured now.
    pub fn configs(&self) -> Vec<ServerConfig> {
        let servers = self.read();
        servers
            .values()
            .map(|server| server.config().clone())
            .collect()
    }

    /// The names of all servers.
    pub fn names(&self) -> Vec<Str> {
        self.read().keys().cloned().collect()
    }

    /// How a server is reached, as telemetry names it; nothing where there is no such server.
    pub fn transport(&self, server: &str) -> Option<&'static str> {
        Some(match self.read().get(server)?.config().reach {
            Reach::Stdio { .. } => "pipe",
            Reach::Http { .. } => "tcp",
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Str, Arc<Server>>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops every server and waits until no child is left. Calls that run or come later fail.
    pub async fn shutdown(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// How each server is, in the order of their names.
    pub fn status(&self) -> Vec<Status> {
        self.read().values().map(|server| server.status()).collect()
    }

    fn server(&self, name: &ToolName) -> Result<Arc<Server>, Failure> {
        let servers = self.read();
        servers.get(&name.server).cloned().ok_or_else(|| {
            let says = format!("no server `{}` is configured", name.server);
            catalog::unknown(says, &name.server, servers.keys().map(Str::as_str))
        })
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

#[async_trait]
impl Tools for Servers {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.read().get(&name.server)?.catalog().get(&name.tool)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.server(name)?.find(name).await
    }

    async fn list(&self) -> Vec<Listing> {
        let servers: Vec<_> = self.read().values().cloned().collect();
        let listings = servers.iter().map(async |server| Listing {
            server: server.name().clone(),
            tools: server.listed().await.map(|tools| tools.to_vec()),
        });
        join_all(listings).await
    }

    fn sources(&self) -> Vec<Source> {
        let servers = self.read();
        servers.values().map(|server| server.source()).collect()
    }

    async fn ask(&self, server: &str) -> Option<Listed> {
        let found = self.read().get(server).cloned()?;
        Some(found.listed().await)
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        let stderr = self.server(name).ok().map(|server| server.stderr());
        let kept = self.exchanges.find(key);
        if kept.is_none() && stderr.as_ref().is_none_or(Vec::is_empty) {
            return None;
        }
        let (request, response) = kept.unwrap_or_default();
        Some(Exchange {
            request,
            response,
            stderr: stderr.unwrap_or_default(),
        })
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        self.server(&call.tool)?.call(call).await
    }
}
