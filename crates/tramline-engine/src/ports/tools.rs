//! `Tools`: everything that can be called, whatever implements it.

use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_expr::{Str, Value};
use tramline_views::pause_view::FileChange;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::trace_context::TraceContext;

/// Lists and calls tools.
#[async_trait]
pub trait Tools: Send + Sync + 'static {
    /// The tool as last listed, without waiting.
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>>;

    /// The tool; its server is asked if necessary.
    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure>;

    /// All servers with their tools, or with why they could not be asked.
    async fn list(&self) -> Vec<ServerTools>;

    /// All servers with their tools as far as known, without asking. Empty if servers are known
    /// only by asking.
    fn sources(&self) -> Vec<ServerSource> {
        Vec::new()
    }

    /// The servers that are being started now, without waiting.
    fn starting(&self) -> Vec<StartingServer> {
        Vec::new()
    }

    /// The tools of one server, or why it could not be asked; `None` if there is no such server.
    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        let mut listings = self.list().await.into_iter();
        let found = listings.find(|listing| listing.server == server)?;
        Some(found.tools.map(Arc::new))
    }

    /// Why a listed tool cannot be used now, such as a switch that is off; `None` if it can, as far
    /// as known without asking its server.
    fn unusable(&self, _name: &ToolName) -> Option<String> {
        None
    }

    /// Calls a tool and waits for its output. Ends soon after `cancel` fires, after notifying the
    /// server; never waits longer than the timeout. A failure whose data says `sent: false` is
    /// known never to have been sent, so the call may be repeated whatever it does.
    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure>;

    /// What a call would change in a file, without making the call; `None` if that is unknown.
    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        let _ = (name, arguments);
        None
    }

    /// The text of a document that an agent named by its path. Front ends check the policy for
    /// `builtin:read-file` first, because this has the same effect.
    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        let call = ToolCallRequest {
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

    /// The wire messages of the call with this key, if they are still available; `None` for tools
    /// that are called in-process.
    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange>;
}

/// The wire messages of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// The request; `None` if it is no longer available.
    pub request: Option<Value>,
    /// The response; `None` if there was none, or if it was too large to keep.
    pub response: Option<Value>,
    /// The last lines that the server wrote to stderr.
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
    /// The server's annotations of its effects.
    pub hints: ToolHints,
}

/// A tool's annotations. A missing one is treated as the least safe value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolHints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may delete or overwrite something.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// It interacts with external systems.
    pub open_world: Option<bool>,
}

impl ToolHints {
    /// Whether a call in doubt may be repeated.
    pub fn repeatable(self) -> bool {
        self.read_only == Some(true) || self.idempotent == Some(true)
    }
}

/// The tools of one server.
#[derive(Clone, Debug)]
pub struct ServerTools {
    /// The server's name in the configuration.
    pub server: Str,
    /// Its tools, or why they could not be listed.
    pub tools: Result<Vec<Arc<Tool>>, Failure>,
}

/// A server's tools, or why they could not be listed. The same list while they stay the same.
pub type ListedTools = Result<Arc<Vec<Arc<Tool>>>, Failure>;

/// A server and its tools as far as known without asking it.
#[derive(Clone, Debug)]
pub struct ServerSource {
    /// The server's name in the configuration.
    pub server: Str,
    /// A fingerprint of its configuration; `None` if its tools are always known.
    pub fingerprint: Option<Str>,
    /// Its tools as last listed.
    pub tools: Option<Arc<Vec<Arc<Tool>>>>,
}

/// A server that is being started: calls wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartingServer {
    /// The server's name in the configuration.
    pub server: Str,
    /// How long the start has taken so far.
    pub elapsed: Duration,
}

/// One call of a tool.
pub struct ToolCallRequest {
    /// The tool to call.
    pub tool: ToolName,
    /// The arguments, an object.
    pub arguments: Value,
    /// The idempotency key: the same for every repetition of one step.
    pub key: Str,
    /// How long to wait for an answer or the next progress notification.
    pub timeout: Duration,
    /// Fires when the answer is no longer needed.
    pub cancel: CancellationToken,
    /// Receives progress notifications, if set.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// The trace span it belongs to, for servers that trace.
    pub upstream: Option<TraceContext>,
}

/// A progress notification of a running call.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The progress so far.
    pub done: f64,
    /// The total, if known.
    pub total: Option<f64>,
    /// What the call is doing.
    pub message: Option<String>,
}
