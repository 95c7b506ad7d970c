//! Everything callable in one place: each server's name leads to who serves it.

use crate::seams::{Call, Exchange, Listed, Listing, Source, Tool, Tools};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::Failure;
use tramline_core::formats::yaml_graph::BUILTIN;
use tramline_core::ids::ToolName;
use tramline_core::question::FileChange;
use tramline_core::{Str, Value};

/// Tools of several origins. Names that nobody claimed go to the last resort.
pub struct Toolbox {
    named: BTreeMap<Str, Arc<dyn Tools>>,
    rest: Arc<dyn Tools>,
}

impl Toolbox {
    /// A toolbox in which every server is one of `rest`.
    pub fn new(rest: Arc<dyn Tools>) -> Self {
        Self {
            named: BTreeMap::new(),
            rest,
        }
    }

    /// The same with one server's name served by `tools`.
    #[must_use]
    pub fn with(mut self, server: impl Into<Str>, tools: Arc<dyn Tools>) -> Self {
        self.named.insert(server.into(), tools);
        self
    }

    fn of(&self, name: &ToolName) -> &Arc<dyn Tools> {
        self.named.get(&name.server).unwrap_or(&self.rest)
    }
}

#[async_trait]
impl Tools for Toolbox {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.of(name).known(name)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.of(name).find(name).await
    }

    async fn list(&self) -> Vec<Listing> {
        let mut listings = Vec::new();
        for tools in self.named.values().chain([&self.rest]) {
            listings.extend(tools.list().await);
        }
        listings
    }

    fn sources(&self) -> Vec<Source> {
        let all = self.named.values().chain([&self.rest]);
        all.flat_map(|tools| tools.sources()).collect()
    }

    async fn ask(&self, server: &str) -> Option<Listed> {
        let tools = self.named.get(server).unwrap_or(&self.rest);
        tools.ask(server).await
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        self.of(name).preview(name, arguments).await
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        let tools = self.named.get(BUILTIN).unwrap_or(&self.rest);
        tools.document(path, patience).await
    }

    fn unusable(&self, name: &ToolName) -> Option<String> {
        self.of(name).unusable(name)
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        self.of(name).exchange(name, key)
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        self.of(&call.tool).call(call).await
    }
}
