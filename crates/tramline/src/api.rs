//! The API for Rust programs: open, load documents, run their tools, control and read runs.
//!
//! A thin layer over [`Engine`] and [`App`]: each method delegates to one of them.

use crate::app::{self, App, RunOrigin};
use crate::config::{APP, Config, read_document};
use crate::linked_documents;
use crate::protected_paths;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tramline_engine::ports::{Callable, RunFilter, RunPage};
use tramline_engine::{Engine, Fault};
use tramline_expr::{Str, Value};
use tramline_formats::{Format, KnownServers, ReadOptions};
use tramline_mcp_server::NameTaken;
pub use tramline_planner::loop_runner::{
    CallerContext, LoopRequest, LoopResponse, LoopRunner, LoopStatus, OnFailure, PlanMaker,
    PlannerPrompt, PlanningTask,
};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::text::nearest;

mod debugging;
mod document;
mod drive_wait;
mod error;
mod events;
mod request;
mod run;
mod serve;
mod tool;
mod types;

pub use debugging::{Fork, ReplayResult};
pub use document::{Document, ToolInfo};
pub use error::Error;
pub use events::{Event, RunEvents};
pub use request::{RunRequest, StartRequest};
pub use run::Run;
pub use serve::HttpServer;
pub(crate) use tool::AppTools;
pub use tool::Tool;
pub use types::{Answer, Failure, OutcomeKind, Question, RunOutcome, Step, Trace};

/// At most this many documents can be loaded: names are looked up in all of them.
const DOCUMENTS_MAX: usize = 1_000;

/// Documents, the tools they call, and their runs. Clones share everything.
///
/// Call its methods inside a Tokio runtime; runs are driven on it.
#[derive(Clone)]
pub struct Tramline(Arc<TramlineInner>);

struct TramlineInner {
    app: App,
    config: Config,
    /// The servers that documents may use without declaring them.
    known_servers: Vec<Str>,
    documents: RwLock<Vec<Document>>,
}

impl Tramline {
    /// Opens the store and starts an engine on it. Servers are started on first use.
    pub fn open(config: Config) -> Result<Self, Error> {
        let house = app::open(&config, &[])?;
        let elsewhere = app::known_servers(&config)?;
        Ok(Self(Arc::new(TramlineInner {
            app: house,
            config,
            known_servers: elsewhere,
            documents: RwLock::default(),
        })))
    }

    /// Loads a document of any format from a file. Replaces what was loaded from that file before.
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<Document, Error> {
        let path = path.as_ref();
        let bytes = read_document(path).map_err(Error::Unreadable)?;
        self.load(&bytes, Some(path.to_owned()))
    }

    /// Loads a document of any format from text.
    ///
    /// Its runs do not record where to find it: a process that resumes one must load it first.
    pub fn load_str(&self, text: &str) -> Result<Document, Error> {
        self.load(text.as_bytes(), None)
    }

    fn load(&self, bytes: &[u8], path: Option<PathBuf>) -> Result<Document, Error> {
        let mut hint = ReadOptions {
            known_servers: KnownServers::Configured(&self.0.known_servers),
            ..ReadOptions::default()
        };
        // Formats whose workflows have no name are named after their file.
        let file = path.as_deref().and_then(Path::file_name);
        let file = file.map(|file| file.to_string_lossy());
        if let Some(file) = &file {
            (hint.format, hint.name) = Format::of_file(file);
        }
        let mut read = match tramline_formats::read(bytes, hint) {
            Ok(read) => read.document,
            Err(flaws) => return Err(Error::Flawed { path, flaws }),
        };
        if let Some(file) = &path
            && let Err(flaws) = linked_documents::read(file, &mut read, hint.known_servers)
        {
            return Err(Error::Flawed { path, flaws });
        }
        let origin = path.as_deref().map_or(Value::Null, |path| {
            RunOrigin::of(path, &self.0.config).to_value()
        });
        // One file is one document, whichever path names it.
        let path = path.map(|path| std::path::absolute(&path).unwrap_or(path));
        let inside = document::DocumentInner {
            path,
            parsed: read,
            origin,
        };
        let document = Document(Arc::new(inside));
        let documents = self.0.documents.write();
        let mut documents = documents.unwrap_or_else(PoisonError::into_inner);
        let mut all = documents.clone();
        all.retain(|other| other.path().is_none() || other.path() != document.path());
        all.push(document.clone());
        self.activate(&all)?;
        *documents = all;
        Ok(document)
    }

    /// Makes the servers and workflows of these documents callable.
    fn activate(&self, all: &[Document]) -> Result<(), Error> {
        if all.len() > DOCUMENTS_MAX {
            return Err(Error::TooMany(DOCUMENTS_MAX));
        }
        let reads = || all.iter().map(|document| &document.0.parsed);
        let mut names: Vec<_> = reads()
            .flat_map(|read| read.workflows.iter())
            .map(|graph| &graph.workflow.name)
            .collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(NameTaken::TwoGraphs(twice[0].clone()).into());
        }
        let servers = app::servers(&self.0.config, reads())?;
        app::register_setting_users(&self.0.app.settings, &servers)?;
        let mut config = self.0.config.clone();
        let files = all.iter().filter_map(Document::path);
        config
            .protected
            .extend(files.map(protected_paths::document));
        let settings = &self.0.app.settings;
        app::protect(&self.0.app.builtin, &config, reads(), &servers, settings);
        self.0.app.servers.replace(servers);
        let graphs = all.iter().flat_map(Document::callables);
        let callables = graphs.map(|(graph, origin)| Callable { graph, origin });
        self.0.app.workflow_map.replace(callables);
        Ok(())
    }

    /// The loaded documents, newest last.
    pub fn documents(&self) -> Vec<Document> {
        let documents = self.0.documents.read();
        documents.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools of all documents.
    pub fn tools(&self) -> Vec<ToolInfo> {
        let documents = self.documents();
        documents.iter().flat_map(Document::tools).collect()
    }

    /// Runs a tool to completion: await the request, or add hooks first.
    pub fn run(&self, tool: impl Into<String>, input: impl Into<serde_json::Value>) -> RunRequest {
        RunRequest::new(self.start(tool, input))
    }

    /// Starts a run of a tool. Wait for it and control it through its [`Run`].
    pub fn start(
        &self,
        tool: impl Into<String>,
        input: impl Into<serde_json::Value>,
    ) -> StartRequest {
        StartRequest::new(self.clone(), tool.into(), input.into())
    }

    /// Adds a tool under the server [`APP`], which runs and plans can call from now on. Like
    /// [`Config::tool`], for tools that become known later.
    pub fn register(&self, tool: Tool) -> Result<(), Error> {
        self.register_of(APP, tool)
    }

    /// Adds a tool under this server name.
    pub fn register_of(&self, server: impl Into<Str>, tool: Tool) -> Result<(), Error> {
        let added = self.0.app.own_tools.register(&server.into(), &tool);
        added.map_err(|why| app::AppError::Tool(why).into())
    }

    /// Everything that runs and plans can call: the program's own tools, the built-in ones, those of
    /// the servers, and workflows. Servers that were never listed are started.
    pub async fn callable_tools(&self) -> Result<Vec<ToolInfo>, Error> {
        let list = self.0.app.catalog.registry().list().await;
        let list = list.map_err(Fault::from)?;
        Ok(list
            .tools
            .iter()
            .map(|tool| ToolInfo::of_tool(tool))
            .collect())
    }

    /// One of [`Tramline::callable_tools`], by its name: `server:tool`.
    pub async fn callable_tool(&self, name: &str) -> Result<Option<ToolInfo>, Error> {
        let list = self.0.app.catalog.registry().list().await;
        let list = list.map_err(Fault::from)?;
        Ok(list.get(name).map(|tool| ToolInfo::of_tool(tool)))
    }

    /// Plans tool calls for a message and runs them. All servers' tools, the built-in ones and the
    /// program's own are available.
    pub async fn run_loop(&self, request: LoopRequest) -> Result<LoopResponse, Error> {
        Ok(self.loop_runner().run(request).await?)
    }

    /// The planner loop over the available tools, with the configured model if there is one.
    pub fn loop_runner(&self) -> LoopRunner {
        self.0.app.loop_runner()
    }

    /// The runs that match the filter, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<RunPage, Error> {
        Ok(self.engine().runs(filter).await?)
    }

    /// A run by its id, whichever process started it.
    pub async fn get(&self, id: &RunId) -> Result<Run, Error> {
        let loaded = self.engine().load(id).await?;
        Ok(Run::new(self.clone(), id.clone(), loaded.run.graph))
    }

    /// Takes over the runs of the loaded documents that were active when their process ended.
    /// Paused runs stay paused until they are answered.
    pub async fn recover(&self) -> Result<Vec<Run>, Error> {
        let documents = self.documents();
        let ours = |run: &tramline_workflow::run::Run| {
            let origin = |document: &Document| RunOrigin::from_value(&document.0.origin);
            documents.iter().any(|document| match origin(document) {
                Some(origin) => origin.covers(run),
                None => document.graphs().any(|(graph, _)| {
                    run.started.origin.is_null() && graph.workflow == run.started.workflow
                }),
            })
        };
        let recovered = self.engine().recover(ours).await?;
        let mut runs = Vec::new();
        for handle in recovered.driven {
            let run = self.get(&handle.run).await?;
            run.set_driver(handle);
            runs.push(run);
        }
        Ok(runs)
    }

    /// Stops driving and shuts the servers down. Active runs continue when they are resumed.
    pub async fn close(&self) {
        self.0.app.close().await;
    }

    /// The engine, for everything this API does not cover.
    pub fn engine(&self) -> &Engine {
        &self.0.app.engine
    }

    fn app(&self) -> &App {
        &self.0.app
    }

    /// The graph of a tool, with the origin that locates its document.
    fn find(&self, tool: &str) -> Result<(Arc<Graph>, Value), Error> {
        let documents = self.documents();
        let mut graphs = documents.iter().flat_map(Document::graphs);
        if let Some(found) = graphs.find(|(graph, _)| graph.workflow.name == tool) {
            return Ok(found);
        }
        let known: Vec<_> = self.tools().into_iter().map(|tool| tool.name).collect();
        Err(Error::UnknownTool {
            name: tool.to_owned(),
            near: nearest(tool, known.iter().map(String::as_str)).map(str::to_owned),
            known,
        })
    }

    /// The name recorded in journals for commands from this process.
    fn actor_name(&self) -> Str {
        let name = self.0.config.name.clone();
        name.unwrap_or_else(|| "the program".into())
    }
}

impl std::fmt::Debug for Tramline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tramline")
            .field("documents", &self.documents().len())
            .finish_non_exhaustive()
    }
}
