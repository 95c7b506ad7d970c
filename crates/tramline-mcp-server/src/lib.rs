//! Tramline as an MCP server: graphs and toolsets for any client, over stdio and HTTP.

use catalog::ToolCatalog;
use connection::ClientConnection;
use resources::run_watch::RunWatch;
use rmcp::ServiceExt;
use rmcp::model::Tool;
use rmcp::service::ServerInitializeError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use subscribers::{ServedChange, Subscribers};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tools::ToolsetState;
use tramline_catalog::Catalog;
use tramline_engine::{Engine, Fault};
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::content::{DeclaredPrompt, ResourceBody};
use tramline_planner::{Planner, Services};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;

mod audit_log;
mod caller;
mod catalog;
mod channel;
mod client_log;
mod completion;
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
mod prompts;
mod reply;
mod request_state;
mod resources;
mod run_wait;
mod server_info;
mod skills;
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
    subscribers: Arc<Subscribers>,
    /// Runs that clients wait for.
    run_watch: Arc<RunWatch>,
    /// Starts to pass on the changes of watched runs, once.
    run_changes: std::sync::Once,
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
            self.subscribers.notify(ServedChange::Tools);
        }
    }

    /// Watches a run for subscribers; `false` if too many are watched.
    fn watch_run(&self, run: &RunId) -> bool {
        self.run_changes.call_once(|| {
            let (mut changes, subscribers) =
                (self.run_watch.subscribe(), Arc::clone(&self.subscribers));
            tokio::spawn(async move {
                loop {
                    match changes.recv().await {
                        Ok(change) => subscribers.notify_run(&change),
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return,
                    }
                }
            });
        });
        self.run_watch.add(run)
    }

    /// Notifies clients of what the documents serve besides tools, if it has changed.
    fn announce_content(&self, before: &ServerDescription, now: &ServerDescription) {
        let bodies = |about: &ServerDescription| -> BTreeMap<Str, ResourceBody> {
            let all = about.content.iter().flat_map(|content| &content.resources);
            all.map(|it| (it.uri.clone(), it.body.clone())).collect()
        };
        let prompts = |about: &ServerDescription| -> Vec<DeclaredPrompt> {
            let all = about.content.iter().flat_map(|content| &content.prompts);
            all.cloned().collect()
        };
        if prompts(before) != prompts(now) {
            self.subscribers.notify(ServedChange::Prompts);
        }
        // Every workflow is a skill, and so a resource.
        self.subscribers.notify(ServedChange::Resources);
        let (before, now) = (bodies(before), bodies(now));
        let changed = now
            .iter()
            .filter(|(uri, body)| before.get(*uri).is_some_and(|old| old != *body));
        let changed: Arc<[String]> = changed.map(|(uri, _)| uri.to_string()).collect();
        if !changed.is_empty() {
            self.subscribers.notify(ServedChange::Updated(changed));
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
        let run_watch = RunWatch::new(Arc::clone(engine.store()));
        Ok(Self(Arc::new(SharedState {
            engine,
            callable,
            planner,
            toolsets: toolsets.to_vec(),
            catalog: RwLock::new(Arc::new(offer)),
            announced_tools: Mutex::new(told),
            subscribers: Arc::default(),
            run_watch,
            run_changes: std::sync::Once::new(),
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
        let now = Arc::clone(&prepared.0);
        let before = {
            let mut catalog = self
                .0
                .catalog
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *catalog, prepared.0)
        };
        self.0.subscribers.clear_warnings();
        self.0.announce_content(&before.server, &now.server);
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
