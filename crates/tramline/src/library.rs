//! The front door for Rust programs: open, load documents, run their tools, steer and read runs.
//!
//! Thin over [`Engine`] and [`House`](crate::wire::House): everything here is a word for something
//! that they do.

use crate::companions;
use crate::config::{Config, read_document};
use crate::protect;
use crate::wire::{self, House, Origin};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tramline_core::formats::{self, Elsewhere, Format, Hint};
use tramline_core::graph::Graph;
use tramline_core::ids::RunId;
use tramline_core::text::nearest;
use tramline_core::{Str, Value};
use tramline_engine::Engine;
pub use tramline_engine::loop_runner::{
    LoopRunner, Mend, Request as LoopRequest, Response as LoopResponse, Standing, Terms,
};
use tramline_engine::seams::{Callable, Page, RunFilter};
use tramline_mcp::server::NameTaken;

mod data;
mod debug;
mod document;
mod driver;
mod error;
mod follow;
mod request;
mod run;
mod serve;
mod tool;

pub use data::{Answer, Ended, Failure, How, Question, Step, Trace};
pub use debug::{Fork, Replayed};
pub use document::{Document, ToolInfo};
pub use error::Error;
pub use follow::{Event, Follow};
pub use request::{Request, Start};
pub use run::Run;
pub use serve::Serving;
pub(crate) use tool::OwnTools;
pub use tool::Tool;

/// More documents than this are refused: names are looked up in all of them.
const DOCUMENTS_MAX: usize = 1_000;

/// Documents, the tools they call, and the runs of them. Clones share everything.
///
/// Its methods are to be called inside a Tokio runtime, on which runs are driven.
#[derive(Clone)]
pub struct Tramline(Arc<Inside>);

struct Inside {
    house: House,
    config: Config,
    /// The servers that documents may use without naming them.
    elsewhere: Vec<Str>,
    documents: RwLock<Vec<Document>>,
}

impl Tramline {
    /// Opens the store and puts an engine over it. Servers are started when they are first called.
    pub fn open(config: Config) -> Result<Self, Error> {
        let house = wire::open(&config, &[])?;
        let elsewhere = wire::elsewhere(&config)?;
        Ok(Self(Arc::new(Inside {
            house,
            config,
            elsewhere,
            documents: RwLock::default(),
        })))
    }

    /// Loads a document of any format from a file, in the place of what was loaded from there before.
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<Document, Error> {
        let path = path.as_ref();
        let bytes = read_document(path).map_err(Error::Unreadable)?;
        self.load(&bytes, Some(path.to_owned()))
    }

    /// Loads a document of any format from text.
    ///
    /// Its runs keep no place where it could be found again: a process that resumes one loads it
    /// first.
    pub fn load_str(&self, text: &str) -> Result<Document, Error> {
        self.load(text.as_bytes(), None)
    }

    fn load(&self, bytes: &[u8], path: Option<PathBuf>) -> Result<Document, Error> {
        let mut hint = Hint {
            elsewhere: Elsewhere::Configured(&self.0.elsewhere),
            ..Hint::default()
        };
        // Formats whose workflows say no name are called after their file.
        let file = path.as_deref().and_then(Path::file_name);
        let file = file.map(|file| file.to_string_lossy());
        if let Some(file) = &file {
            (hint.format, hint.name) = Format::of_file(file);
        }
        let mut read = match formats::read(bytes, hint) {
            Ok(read) => read.document,
            Err(flaws) => return Err(Error::Flawed { path, flaws }),
        };
        if let Some(file) = &path
            && let Err(flaws) = companions::read(file, &mut read, hint.elsewhere)
        {
            return Err(Error::Flawed { path, flaws });
        }
        let origin = path.as_deref().map_or(Value::Null, |path| {
            Origin::of(path, &self.0.config).to_value()
        });
        // One file is one document, however it is named.
        let path = path.map(|path| std::path::absolute(&path).unwrap_or(path));
        let inside = document::Inside { path, read, origin };
        let document = Document(Arc::new(inside));
        let documents = self.0.documents.write();
        let mut documents = documents.unwrap_or_else(PoisonError::into_inner);
        let mut all = documents.clone();
        all.retain(|other| other.path().is_none() || other.path() != document.path());
        all.push(document.clone());
        self.use_all(&all)?;
        *documents = all;
        Ok(document)
    }

    /// Makes the servers and the workflows of these documents the ones that can be called.
    fn use_all(&self, all: &[Document]) -> Result<(), Error> {
        if all.len() > DOCUMENTS_MAX {
            return Err(Error::TooMany(DOCUMENTS_MAX));
        }
        let reads = || all.iter().map(|document| &document.0.read);
        let mut names: Vec<_> = reads()
            .flat_map(|read| read.workflows.iter())
            .map(|graph| &graph.workflow.name)
            .collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(NameTaken::TwoGraphs(twice[0].clone()).into());
        }
        let servers = wire::servers(&self.0.config, reads())?;
        wire::tell_users(&self.0.house.settings, &servers)?;
        let mut config = self.0.config.clone();
        let files = all.iter().filter_map(Document::path);
        config.protected.extend(files.map(protect::document));
        wire::protect(&self.0.house.builtin, &config, reads(), &servers);
        self.0.house.servers.replace(servers);
        let graphs = all.iter().flat_map(Document::callables);
        let callables = graphs.map(|(graph, origin)| Callable { graph, origin });
        self.0.house.shelf.replace(callables);
        Ok(())
    }

    /// The documents that are loaded, the latest last.
    pub fn documents(&self) -> Vec<Document> {
        let documents = self.0.documents.read();
        documents.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools of all documents.
    pub fn tools(&self) -> Vec<ToolInfo> {
        let documents = self.documents();
        documents.iter().flat_map(Document::tools).collect()
    }

    /// Runs a tool to its end: await it, or first say who is told of its steps.
    pub fn run(&self, tool: impl Into<String>, input: impl Into<serde_json::Value>) -> Request {
        Request::new(self.start(tool, input))
    }

    /// Begins a run of a tool, to be waited for and steered by its [`Run`].
    pub fn start(&self, tool: impl Into<String>, input: impl Into<serde_json::Value>) -> Start {
        Start::new(self.clone(), tool.into(), input.into())
    }

    /// Plans tool calls for a message and runs them: the tools of all servers, the built-in ones and
    /// the program's own.
    pub async fn run_loop(&self, request: LoopRequest) -> Result<LoopResponse, Error> {
        Ok(self.loop_runner().run(request).await?)
    }

    /// The planner loop over the tools at hand, with the configured model if there is one.
    pub fn loop_runner(&self) -> LoopRunner {
        self.0.house.runner()
    }

    /// The runs that fit the filter, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Page, Error> {
        Ok(self.engine().runs(filter).await?)
    }

    /// A run by its id, whichever process began it.
    pub async fn get(&self, id: &RunId) -> Result<Run, Error> {
        let loaded = self.engine().load(id).await?;
        Ok(Run::new(self.clone(), id.clone(), loaded.run.graph))
    }

    /// Takes over the runs of the loaded documents that were under way when their process ended.
    /// Paused runs stay paused; answering them goes on.
    pub async fn recover(&self) -> Result<Vec<Run>, Error> {
        let documents = self.documents();
        let ours = |run: &tramline_core::run::Run| {
            let origin = |document: &Document| Origin::from_value(&document.0.origin);
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
            run.driven_by(handle);
            runs.push(run);
        }
        Ok(runs)
    }

    /// Stops driving and ends the servers. Runs under way go on when they are resumed.
    pub async fn close(&self) {
        self.0.house.close().await;
    }

    /// The engine, for what has no word here.
    pub fn engine(&self) -> &Engine {
        &self.0.house.engine
    }

    /// The graph of a tool, with where it is to be found again.
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

    /// Who says what is said from here.
    fn name(&self) -> Str {
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
