//! The built-in tools: files inside allowed roots, HTTP to allowed hosts, commands where they are
//! allowed, prompts for a model and summaries.
//!
//! May not know MCP, stores or graphs. YAML graphs use them with `server: builtin`.

use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::{
    Exchange, Model, ServerSource, ServerTools, Tool, ToolCallRequest, ToolHints, Tools,
};
use tramline_expr::Value;
use tramline_views::pause_view::FileChange;
use tramline_workflow::builtin_tools;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::{RedactText, nearest};

mod arguments;
mod copy_move_delete;
mod files;
mod http;
mod llm;
mod preview;
mod protected;
pub mod regular_file;
mod roots;
mod shell;
mod summary;

pub use http::HostPattern;
pub use protected::{ProtectedPath, Protection};
pub use roots::{RootError, Roots};

/// The server name of these tools in graphs.
pub const SERVER: &str = "builtin";

/// What the built-in tools may touch.
#[derive(Clone, Debug, Default)]
pub struct BuiltinAccess {
    /// The directories in which files may be read and written.
    pub roots: Vec<PathBuf>,
    /// Where documents named by path are read, if there is no root.
    pub documents: Option<PathBuf>,
    /// Paths that file tools must not touch, even inside the roots.
    pub protected: Vec<ProtectedPath>,
    /// The hosts that may be called.
    pub hosts: Vec<HostPattern>,
    /// Whether commands may be run.
    pub shell: bool,
    /// Removes secrets from what a tool shortens; the caller redacts the rest.
    pub redact: RedactText,
}

/// The built-in tools.
pub struct Builtin {
    files: files::FileTools,
    /// Where documents named by path are read.
    documents: Option<files::FileTools>,
    http: http::HttpTool,
    shell: bool,
    redact: RedactText,
    model: Option<Arc<dyn Model>>,
    tools: BTreeMap<&'static str, Arc<Tool>>,
}

impl Builtin {
    /// The tools with this access.
    pub fn new(allowed: BuiltinAccess) -> Result<Self, RootError> {
        let files = files::tools().into_iter().chain(copy_move_delete::tools());
        let described = files.chain([http::tool(), llm::tool(), shell::tool(), summary::tool()]);
        let roots = Roots::open(&allowed.roots)?;
        let documents = allowed.documents.filter(|_| roots.is_empty());
        let documents = documents.map(|dir| Roots::open(&[dir])).transpose()?;
        let builtin = Self {
            files: files::FileTools::new(roots),
            documents: documents.map(files::FileTools::new),
            http: http::HttpTool::new(allowed.hosts, allowed.redact.clone()),
            shell: allowed.shell,
            redact: allowed.redact,
            model: None,
            tools: described
                .map(|(name, tool)| (name, Arc::new(tool)))
                .collect(),
        };
        let protected = allowed.protected;
        builtin.protect(move || protected.clone());
        Ok(builtin)
    }

    /// Protects the paths that this function returns, from now on and instead of the previous ones. It is called for
    /// each call of a file tool: what a server is started from can depend on variables, settings and existing files.
    pub fn protect(&self, paths: impl Fn() -> Vec<ProtectedPath> + Send + Sync + 'static) {
        let paths: roots::ProtectedPaths = Arc::new(paths);
        for files in std::iter::once(&self.files).chain(&self.documents) {
            files.roots.protect(Arc::clone(&paths));
        }
    }

    /// The same, with a model that answers prompts.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// The model that answers prompts.
    pub fn model(&self) -> Option<Arc<dyn Model>> {
        self.model.clone()
    }

    fn tool(&self, name: &ToolName) -> Result<&Arc<Tool>, Failure> {
        self.tools.get(name.tool.as_str()).ok_or_else(|| {
            let near = nearest(&name.tool, self.tools.keys().copied())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!("unknown built-in tool `{}`{near}", name.tool);
            Failure::new(FailureKind::UnknownTool, message)
        })
    }
}

#[async_trait]
impl Tools for Builtin {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.tools.get(name.tool.as_str()).cloned()
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.tool(name).cloned()
    }

    async fn list(&self) -> Vec<ServerTools> {
        vec![ServerTools {
            server: SERVER.into(),
            tools: Ok(self.tools.values().cloned().collect()),
        }]
    }

    fn sources(&self) -> Vec<ServerSource> {
        vec![ServerSource {
            server: SERVER.into(),
            fingerprint: None,
            tools: Some(Arc::new(self.tools.values().cloned().collect())),
        }]
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        preview::preview(&self.files, &self.redact, &name.tool, arguments).await
    }

    fn unusable(&self, name: &ToolName) -> Option<String> {
        let why = match name.tool.as_str() {
            "shell" if !self.shell => "commands are disabled",
            "llm" if self.model.is_none() => "no model is configured",
            "http" if !self.http.has_hosts() => "no host may be called",
            _ => return None,
        };
        Some(why.to_owned())
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        let files = self.documents.as_ref().unwrap_or(&self.files);
        let named = path.to_owned();
        let read = move |roots: &Roots| files::content(roots, &named);
        let reading = tokio::time::timeout(patience, files.run_blocking(patience, read)).await;
        let bytes = reading.map_err(|_| {
            let message = format!("reading {path} took longer than {patience:?}");
            Failure::new(FailureKind::Timeout, message)
        })???;
        String::from_utf8(bytes).map_err(|_| {
            let message = format!("{path} is not text");
            Failure::new(FailureKind::Tool, message)
        })
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        self.tool(&call.tool)?;
        let cancel = call.cancel.clone();
        if cancel.is_cancelled() {
            let message = format!("{} was cancelled before it started", call.tool);
            return Err(Failure::new(FailureKind::Cancelled, message));
        }
        let work = async {
            match call.tool.tool.as_str() {
                "http" => self.http.call(&call.arguments, call.timeout).await,
                "llm" => llm::call(self.model.as_ref(), &self.redact, &call).await,
                summary::NAME => summary::call(self.model.as_ref(), &self.redact, &call).await,
                "shell" => {
                    let access = shell::ShellAccess {
                        allowed: self.shell,
                        roots: &self.files.roots,
                        redact: &self.redact,
                    };
                    shell::call(access, &call.arguments, call.timeout).await
                }
                tool => {
                    let arguments = call.arguments.clone();
                    self.files.call(tool, arguments, call.timeout).await
                }
            }
        };
        tokio::select! {
            done = work => done,
            () = cancel.cancelled() => {
                let message = format!("{} was cancelled", call.tool);
                Err(Failure::new(FailureKind::Cancelled, message).after_sending())
            }
        }
    }
}

fn describe(name: &'static str, description: &str, hints: ToolHints) -> (&'static str, Tool) {
    let schema = builtin_tools::schema(name).cloned().unwrap_or_default();
    let tool = Tool {
        name: ToolName::new(SERVER, name),
        title: None,
        description: Some(description.into()),
        input_schema: schema.input,
        output_schema: schema.output,
        hints,
    };
    (name, tool)
}
