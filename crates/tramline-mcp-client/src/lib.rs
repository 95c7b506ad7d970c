//! Downstream MCP servers as [`Tools`]: started on first use, shared by all runs, supervised, and stopped with
//! us.
//!
//! [`Servers`] finds the server; `server` manages one server; `connection` carries one call; `supervisor`
//! handles the end of a connection. Whatever a server does, a call ends with a value or a [`Failure`], in
//! bounded time and memory, and the next call has a server to use.

mod bounded_reader;
mod child_process;
pub mod config;
mod connect;
mod connection;
mod failure_marks;
#[doc(hidden)]
pub mod framing;
mod handler;
mod http_address;
mod http_client;
mod request;
mod server;
mod stderr;
mod stdio_transport;
mod supervisor;
mod timer_pool;
mod tool_list;
mod tool_output;
mod wire_log;

pub use connection::Era;

use crate::config::{ServerConfig, ServerEndpoint};
use async_trait::async_trait;
use futures_util::future::join_all;
use server::SupervisedServer;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tramline_engine::ports::{
    Exchange, ListedTools, ServerSource, ServerTools, StartingServer, Tool, ToolCallRequest, Tools,
};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::Failure;
use tramline_workflow::ids::ToolName;
use wire_log::WireLog;

/// Maximum size of a server's answer, in bytes. Longer answers are rejected. This is the HTTP transport's limit
/// for one event, and far more than belongs in a journal.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a server may take to start: a cold `npx` downloads packages first.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum duration of a call, even if it keeps reporting progress.
pub const CALL_TOTAL_MAX: Duration = Duration::from_secs(60 * 60);

/// Default limit on concurrent calls to one server: more than a wide layer needs, few enough not to overload a
/// server.
pub const MAX_CONCURRENT: u32 = 64;

/// Looks up an environment variable or a setting.
pub type VariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

pub use tramline_workflow::text::RedactText;

/// Removes secrets from a tool's description. Returns `None` for a tool whose name contains a secret.
pub type RedactTool = Arc<dyn Fn(Tool) -> Option<Tool> + Send + Sync>;

/// Checks whether a server may be started or reached; the error says why not.
pub type StartPermit = Arc<dyn Fn(&ServerConfig) -> Result<(), String> + Send + Sync>;

/// Limits and hooks for downstream servers.
#[derive(Clone)]
pub struct ClientOptions {
    /// Called before every start of or connection to a server.
    pub permit: StartPermit,
    /// Source of `${VAR}` and of the few inherited variables.
    pub lookup: VariableLookup,
    /// Removes secrets from stderr, wire logs and failures before they are truncated.
    pub redact: RedactText,
    /// Removes secrets from tool descriptions before they are stored. Returns `None` for a tool that cannot be
    /// shown.
    pub redact_tool: RedactTool,
    /// Time limit for the handshake, and again for the tool listing.
    pub start_timeout: Duration,
    /// After a call timed out, how long the server has to answer a ping.
    pub ping_timeout: Duration,
    /// Maximum size of an answer, in bytes.
    pub answer_bytes_max: usize,
    /// How many recent requests and answers are kept for inspecting a call.
    pub wire_log_size: usize,
    /// Maximum duration of a call, even if it keeps reporting progress.
    pub call_total_max: Duration,
    /// Limit on concurrent calls to a server whose configuration sets none.
    pub max_concurrent: u32,
    /// Backoff before the first restart after a crash; doubles with each consecutive crash.
    pub backoff_first: Duration,
    /// Maximum backoff before a restart.
    pub backoff_max: Duration,
    /// A server that has run this long resets its crash count.
    pub stable_after: Duration,
    /// How long a child may take to exit after its stdin is closed.
    pub stop_grace: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            permit: Arc::new(|_| Ok(())),
            lookup: Arc::new(|name| std::env::var(name).ok()),
            redact: RedactText::default(),
            redact_tool: Arc::new(Some),
            start_timeout: START_TIMEOUT,
            ping_timeout: Duration::from_secs(5),
            answer_bytes_max: ANSWER_BYTES_MAX,
            wire_log_size: 0,
            call_total_max: CALL_TOTAL_MAX,
            max_concurrent: MAX_CONCURRENT,
            backoff_first: Duration::from_millis(100),
            backoff_max: Duration::from_secs(30),
            stable_after: Duration::from_secs(30),
            stop_grace: Duration::from_millis(1_500),
        }
    }
}

/// State of one server.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub server: Str,
    /// What it is doing.
    pub state: ServerState,
}

/// Lifecycle state of a server.
#[derive(Clone, Debug)]
pub enum ServerState {
    /// Not used yet, or stopped because it was idle.
    NotStarted,
    /// Disabled in the configuration.
    Disabled,
    /// Starting.
    Starting {
        /// Time in this state.
        since: Duration,
    },
    /// Accepting calls.
    Ready {
        /// Process id, if the server is a child process.
        pid: Option<u32>,
        /// Number of tools it lists.
        tools: usize,
        /// The handshake in use.
        era: Era,
        /// Time in this state.
        since: Duration,
    },
    /// Crashed, or failed to start.
    BackingOff {
        /// Time until the next call may try again.
        retry_in: Duration,
        /// What happened.
        failure: Failure,
    },
}

/// All configured servers. Dropping this stops them; [`Servers::shutdown`] also waits until they have stopped.
pub struct Servers {
    servers: RwLock<BTreeMap<Str, Arc<SupervisedServer>>>,
    options: Arc<ClientOptions>,
    wire_log: Arc<WireLog>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Servers {
    /// Creates the servers of these configurations without starting them. If a name occurs twice, the later
    /// configuration wins.
    pub fn new(configs: impl IntoIterator<Item = ServerConfig>, options: ClientOptions) -> Self {
        let servers = Self {
            servers: RwLock::default(),
            wire_log: Arc::new(WireLog::new(options.wire_log_size, options.redact.clone())),
            options: Arc::new(options),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        servers.replace(configs);
        servers
    }

    /// Replaces the configurations. A server whose configuration is unchanged keeps running; one that was
    /// removed or changed is stopped when its calls have ended.
    pub fn replace(&self, configs: impl IntoIterator<Item = ServerConfig>) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *servers);
        for config in configs {
            let name = config.name.clone();
            let same = before.get(&name).is_some_and(|old| *old.config() == config);
            let kept = same.then(|| before.remove(&name)).flatten();
            let server = kept.unwrap_or_else(|| {
                let (options, closing) = (self.options.clone(), self.closing.child_token());
                let kept = Arc::clone(&self.wire_log);
                Arc::new(SupervisedServer::new(
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

    /// Lists one server's tools, or returns why it cannot be asked; `None` if there is no such server.
    pub async fn list_tools_of(&self, server: &str) -> Option<Result<Vec<Arc<Tool>>, Failure>> {
        let found = self.servers_read().get(server).cloned()?;
        Some(found.list_tools().await.map(|tools| tools.to_vec()))
    }

    /// The current configurations of all servers.
    pub fn configs(&self) -> Vec<ServerConfig> {
        let servers = self.servers_read();
        servers
            .values()
            .map(|server| server.config().clone())
            .collect()
    }

    /// The names of all servers.
    pub fn names(&self) -> Vec<Str> {
        self.servers_read().keys().cloned().collect()
    }

    /// The transport of a server, as telemetry names it; `None` if there is no such server.
    pub fn transport(&self, server: &str) -> Option<&'static str> {
        Some(match self.servers_read().get(server)?.config().reach {
            ServerEndpoint::Stdio { .. } => "pipe",
            ServerEndpoint::Http { .. } => "tcp",
        })
    }

    fn servers_read(&self) -> RwLockReadGuard<'_, BTreeMap<Str, Arc<SupervisedServer>>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops every server and waits until no child process is left. Running and later calls fail.
    pub async fn shutdown(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The state of each server, sorted by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.servers_read()
            .values()
            .map(|server| server.status())
            .collect()
    }

    fn server(&self, name: &ToolName) -> Result<Arc<SupervisedServer>, Failure> {
        let servers = self.servers_read();
        servers.get(&name.server).cloned().ok_or_else(|| {
            let says = format!("no server `{}` is configured", name.server);
            tool_list::unknown(says, &name.server, servers.keys().map(Str::as_str))
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
        self.servers_read()
            .get(&name.server)?
            .tools()
            .get(&name.tool)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.server(name)?.find(name).await
    }

    async fn list(&self) -> Vec<ServerTools> {
        let servers: Vec<_> = self.servers_read().values().cloned().collect();
        let listings = servers.iter().map(async |server| ServerTools {
            server: server.name().clone(),
            tools: server.list_tools().await.map(|tools| tools.to_vec()),
        });
        join_all(listings).await
    }

    fn sources(&self) -> Vec<ServerSource> {
        let servers = self.servers_read();
        servers.values().map(|server| server.source()).collect()
    }

    fn starting(&self) -> Vec<StartingServer> {
        let all = self.status().into_iter();
        all.filter_map(|one| match one.state {
            ServerState::Starting { since } => Some(StartingServer {
                server: one.server,
                elapsed: since,
            }),
            ServerState::Disabled
            | ServerState::NotStarted
            | ServerState::Ready { .. }
            | ServerState::BackingOff { .. } => None,
        })
        .collect()
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        let found = self.servers_read().get(server).cloned()?;
        Some(found.list_tools().await)
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        let stderr = self.server(name).ok().map(|server| server.stderr());
        let kept = self.wire_log.find(key);
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

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        self.server(&call.tool)?.call(call).await
    }
}
