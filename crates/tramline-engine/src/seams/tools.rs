//! `Tools`: everything that can be called, whatever stands behind it.

use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::question::FileChange;
use tramline_core::upstream::Upstream;
use tramline_core::{Str, Value};

/// Lists and calls tools.
#[async_trait]
pub trait Tools: Send + Sync + 'static {
    /// The tool as last listed, without waiting for anything.
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>>;

    /// The tool, asking its server first if need be.
    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure>;

    /// Every server with its tools, or with why it could not be asked.
    async fn list(&self) -> Vec<Listing>;

    /// Every server with what is known of its tools by now, asking nobody. Empty where servers are
    /// known only by asking.
    fn sources(&self) -> Vec<Source> {
        Vec::new()
    }

    /// One server's tools, or why it could not be asked; nothing where there is no such server.
    async fn ask(&self, server: &str) -> Option<Listed> {
        let mut listings = self.list().await.into_iter();
        let found = listings.find(|listing| listing.server == server)?;
        Some(found.tools.map(Arc::new))
    }

    /// Why a tool that is listed cannot be used here and now, such as a switch that is off. Nothing
    /// where it can, as far as that is known without asking anybody.
    fn unusable(&self, _name: &ToolName) -> Option<String> {
        None
    }

    /// Calls a tool and waits for its output. Ends soon after `cancel` fires, having told the
    /// server; never waits longer than the time-out. A failure whose data says `sent: false` is
    /// known never to have left, so the call may be made again whatever it does.
    async fn call(&self, call: Call) -> Result<Value, Failure>;

    /// What a call would change in a file, without making it. Nothing where that cannot be told.
    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        let _ = (name, arguments);
        None
    }

    /// The text of a document that an agent named by its path. Front ends ask the policy about
    /// `builtin:read-file` first, since this is the same by another way.
    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        let call = Call {
            tool: ToolName::new("builtin", "read-file"),
            arguments: Value::object([("path", path.into())]),
            key: "document".into(),
            timeout: patience,
            cancel: CancellationToken::new(),
            progress: None,
            upstream: None,
        };
        let read = self.call(call).await?;
        let part = |key: &str| read.get(key).and_then(Value::as_str).unwrap_or_default();
        if part("encoding") == "base64" {
            let message = format!("{path} is not text");
            return Err(Failure::new(FailureKind::Tool, message));
        }
        Ok(part("content").to_owned())
    }

    /// What went over the wire for the call with this key, as far as that is still known. Nothing
    /// where nothing goes over a wire.
    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange>;
}

/// What went over the wire for one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// What was sent; nothing if that is not known any more.
    pub request: Option<Value>,
    /// What came back; nothing if nothing did, or if it was too large to be kept.
    pub response: Option<Value>,
    /// The last lines that the server wrote beside its answers.
    pub stderr: Vec<String>,
}

/// A tool as its server describes it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its server and name.
    pub name: ToolName,
    /// A title for people.
    pub title: Option<Str>,
    /// What it does, for agents.
    pub description: Option<Str>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured output.
    pub output_schema: Option<Value>,
    /// What its server says of its effects.
    pub hints: Hints,
}

/// What a server says of a tool's effects. Absent means unsaid, and unsaid means the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It reaches into the world outside.
    pub open_world: Option<bool>,
}

impl Hints {
    /// Whether a call may be repeated when nobody knows if it happened.
    pub fn repeatable(self) -> bool {
        self.read_only == Some(true) || self.idempotent == Some(true)
    }
}

/// One server's answer to being asked for its tools.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The server's name in the configuration.
    pub server: Str,
    /// Its tools, or why there are none.
    pub tools: Result<Vec<Arc<Tool>>, Failure>,
}

/// A server's tools, or why there are none. The same list for as long as they stay the same.
pub type Listed = Result<Arc<Vec<Arc<Tool>>>, Failure>;

/// A server and what is known of its tools without asking it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The server's name in the configuration.
    pub server: Str,
    /// What tells one configuration of it from another; nothing where its tools are always known.
    pub print: Option<Str>,
    /// Its tools as last listed.
    pub tools: Option<Arc<Vec<Arc<Tool>>>>,
}

/// One call of a tool.
pub struct Call {
    /// What to call.
    pub tool: ToolName,
    /// The arguments, an object.
    pub arguments: Value,
    /// The same for every repetition of one step, so that a server can tell a repetition.
    pub key: Str,
    /// How long to wait for an answer, or for the next sign of progress.
    pub timeout: Duration,
    /// Fires when nobody wants the answer any more.
    pub cancel: CancellationToken,
    /// Told of progress, if anybody cares.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// The span that it belongs to, for servers that trace.
    pub upstream: Option<Upstream>,
}

/// A sign of life from a running call.
#[derive(Clone, Debug)]
pub struct Progress {
    /// How far it is.
    pub done: f64,
    /// How far it goes, if known.
    pub total: Option<f64>,
    /// What it is doing.
    pub message: Option<String>,
}
