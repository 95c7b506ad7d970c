//! Tramline as an MCP server: graphs and toolsets for any client, over stdio and HTTP.

use catalog::ToolCatalog;
use connection::ClientConnection;
use rmcp::ServiceExt;
use rmcp::model::Tool;
use rmcp::service::ServerInitializeError;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use subscribers::Subscribers;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tools::ToolsetState;
use tramline_catalog::Catalog;
use tramline_engine::{Engine, Fault};
use tramline_expr::Value;
use tramline_planner::{Planner, Services};
use tramline_workflow::graph::Graph;

mod audit_log;
mod caller;
mod catalog;
mod client_log;
mod connection;
mod document_check;
mod elicitation;
mod error_codes;
mod form_answer;
mod http;
mod options;
mod pause_reply;
mod planner;
mod progress;
mod reply;
mod request_state;
mod run_wait;
mod server_info;
mod subscribers;
mod tasks;
mod tool;
mod tool_prefix;
mod tools;
mod trace_context;

pub use catalog::NameTaken;
pub use http::{CommandOf, ExtraRoutes, HttpFault, HttpLimits, HttpOptions, NamedToken};
pub use options::{CALL_WAIT_DEFAULT, ServerOptions};
pub use server_info::ServerDescription;
pub use tool_prefix::{InvalidPrefix, ToolPrefix};
pub use tools::sop::{PinOptions, PinnedProcedure};
pub use tools::{Toolset, UnknownToolset};

/// The MCP server. Clones share everything; no state belongs to a connection.
#[derive(Clone)]
pub struct Server(Arc<SharedState>);

/// Graphs that are checked and ready to be served: their names are free.
pub struct PreparedCatalog(Arc<ToolCatalog>);

struct SharedState {
    engine: Engine,
    /// Everything that can be called.
    callable: Catalog,
    planner: Planner,
    toolsets: Vec<Toolset>,
    catalog: RwLock<Arc<ToolCatalog>>,
    /// The tool list that clients were last notified of.
    announced_tools: Mutex<Vec<Tool>>,
    subscribers: Subscribers,
    options: ServerOptions,
    /// Counts workflows saved by agents.
    saves: watch::Sender<u64>,
    toolset_state: ToolsetState,
}

impl SharedState {
    fn catalog(&self) -> Arc<ToolCatalog> {
        let offer = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&offer)
    }

    /// The tools as `tools/list` shows them, with the annotations known so far.
    fn list_tools(&self) -> Vec<Tool> {
        let listed = self.catalog().list(self.engine.tools().as_ref());
        let listed = listed
            .into_iter()
            .map(|tool| self.toolset_state.describe(tool));
        let listed = listed.chain(self.toolset_state.extra_tools());
        listed.map(|tool| self.prefix().apply(tool)).collect()
    }

    /// What the names of all served tools start with.
    fn prefix(&self) -> &ToolPrefix {
        &self.options.tool_prefix
    }

    /// Notifies clients if the tool list has changed.
    fn announce_changes(&self) {
        let listed = self.list_tools();
        let mut told = self
            .announced_tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *told != listed {
            *told = listed;
            self.subscribers.notify_tools_changed();
        }
    }

    /// Signals that a workflow was saved, so that servers of saved workflows reload.
    fn library_changed(&self) {
        self.saves.send_modify(|count| *count += 1);
    }

    /// Updates annotations after a call: its servers are running now and may have listed their tools.
    fn update_annotations(&self) {
        let told = self
            .announced_tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let silent = told.iter().any(|tool| tool.annotations.is_none());
        drop(told);
        if silent {
            self.announce_changes();
        }
    }
}

impl Server {
    /// Creates a server with these toolsets; each graph is a tool, with its origin for later lookup.
    pub fn new(
        services: Services,
        about: ServerDescription,
        toolsets: &[Toolset],
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
    ) -> Result<Self, NameTaken> {
        Self::with_options(services, about, toolsets, graphs, ServerOptions::default())
    }

    /// Creates a server with options for runs started by agents.
    pub fn with_options(
        services: Services,
        about: ServerDescription,
        toolsets: &[Toolset],
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
        conduct: ServerOptions,
    ) -> Result<Self, NameTaken> {
        let Services {
            engine,
            catalog: callable,
            planner,
        } = services;
        let offer = ToolCatalog::new(about, toolsets, graphs)?;
        let told = offer.list(engine.tools().as_ref()).into_iter();
        let state = ToolsetState::new(&engine, &conduct);
        let told = told.map(|tool| conduct.tool_prefix.apply(state.describe(tool)));
        let told = told.collect();
        Ok(Self(Arc::new(SharedState {
            engine,
            callable,
            planner,
            toolsets: toolsets.to_vec(),
            catalog: RwLock::new(Arc::new(offer)),
            announced_tools: Mutex::new(told),
            subscribers: Subscribers::default(),
            options: conduct,
            saves: watch::Sender::new(0),
            toolset_state: state,
        })))
    }

    /// Prepares to serve these graphs instead; nothing changes before [`Server::replace_graphs`].
    pub fn prepare(
        &self,
        about: ServerDescription,
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
    ) -> Result<PreparedCatalog, NameTaken> {
        let offer = ToolCatalog::new(about, &self.0.toolsets, graphs)?;
        Ok(PreparedCatalog(Arc::new(offer)))
    }

    /// Serves the prepared graphs from now on, all at once. Running calls keep their graphs.
    pub fn replace_graphs(&self, prepared: PreparedCatalog) {
        *self
            .0
            .catalog
            .write()
            .unwrap_or_else(PoisonError::into_inner) = prepared.0;
        self.0.subscribers.clear_warnings();
        self.0.announce_changes();
    }

    /// Checks again what is known about the tools that graphs call, and notifies clients of changes.
    pub fn refresh(&self) {
        self.0.announce_changes();
    }

    /// Changes whenever an agent has saved a workflow here.
    pub fn saves(&self) -> watch::Receiver<u64> {
        self.0.saves.subscribe()
    }

    /// Sends a warning to every subscribed client, and to clients that connect before the next change.
    pub fn warn(&self, message: &str) {
        self.0.subscribers.warn(message);
    }

    /// Serves over stdin and stdout until the client disconnects.
    pub async fn serve_stdio(self) -> Result<(), Fault> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        Box::pin(self.serve_over(input, output)).await
    }

    /// Serves one client over these streams until it disconnects.
    pub async fn serve_over(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), Fault> {
        let broken = |error: &dyn std::fmt::Display| {
            Fault::Rejected(format!("the connection to the client broke: {error}"))
        };
        let running = match self.connection().serve((input, output)).await {
            Ok(running) => running,
            // A client that leaves before or during the handshake, such as one that only tests the command.
            Err(
                ServerInitializeError::ConnectionClosed(_)
                | ServerInitializeError::TransportError { .. },
            ) => return Ok(()),
            Err(error) => return Err(broken(&error)),
        };
        running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| broken(&error))
    }

    fn connection(&self) -> ClientConnection {
        ClientConnection::new(Arc::clone(&self.0))
    }
}
