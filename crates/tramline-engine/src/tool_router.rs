//! Routes tool calls by the name of their server.

use crate::ports::{
    Exchange, ListedTools, ServerSource, ServerTools, StartingServer, Tool, ToolCallRequest, Tools,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::{Str, Value};
use tramline_views::pause_view::FileChange;
use tramline_workflow::failure::Failure;
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;

/// Tools of several origins. Unknown server names go to a default.
pub struct ToolRouter {
    named: BTreeMap<Str, Arc<dyn Tools>>,
    rest: Arc<dyn Tools>,
}

impl ToolRouter {
    /// A router that sends every server to `rest`.
    pub fn new(rest: Arc<dyn Tools>) -> Self {
        Self {
            named: BTreeMap::new(),
            rest,
        }
    }

    /// Adds a server that is served by `tools`.
    #[must_use]
    pub fn with(mut self, server: impl Into<Str>, tools: Arc<dyn Tools>) -> Self {
        self.named.insert(server.into(), tools);
        self
    }

    fn route(&self, name: &ToolName) -> &Arc<dyn Tools> {
        self.named.get(&name.server).unwrap_or(&self.rest)
    }
}

#[async_trait]
impl Tools for ToolRouter {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.route(name).known(name)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.route(name).find(name).await
    }

    async fn list(&self) -> Vec<ServerTools> {
        let mut listings = Vec::new();
        for tools in self.named.values().chain([&self.rest]) {
            listings.extend(tools.list().await);
        }
        listings
    }

    fn sources(&self) -> Vec<ServerSource> {
        let all = self.named.values().chain([&self.rest]);
        all.flat_map(|tools| tools.sources()).collect()
    }

    fn starting(&self) -> Vec<StartingServer> {
        let all = self.named.values().chain([&self.rest]);
        all.flat_map(|tools| tools.starting()).collect()
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        let tools = self.named.get(server).unwrap_or(&self.rest);
        tools.list_server(server).await
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        self.route(name).preview(name, arguments).await
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        let tools = self.named.get(BUILTIN).unwrap_or(&self.rest);
        tools.document(path, patience).await
    }

    fn unusable(&self, name: &ToolName) -> Option<String> {
        self.route(name).unusable(name)
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        self.route(name).exchange(name, key)
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        self.route(&call.tool).call(call).await
    }
}
