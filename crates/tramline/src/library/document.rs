//! A document that was loaded: what it says of itself, its tools, what is odd about it.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_core::flaw::Flaw;
use tramline_core::formats::yaml_graph;
use tramline_core::graph::Graph;
use tramline_core::{Value, workflow::Workflow};

/// A document that was loaded. Clones share it.
#[derive(Clone, Debug)]
pub struct Document(pub(super) Arc<Inside>);

#[derive(Debug)]
pub(super) struct Inside {
    pub(super) path: Option<PathBuf>,
    pub(super) read: yaml_graph::Document,
    /// Where runs find it again.
    pub(super) origin: Value,
}

impl Document {
    /// The name it gives itself as a server.
    pub fn name(&self) -> &str {
        &self.0.read.server.name
    }

    /// Its file, if it came from one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Its tools, in document order.
    pub fn tools(&self) -> impl Iterator<Item = ToolInfo> + '_ {
        let workflows = self.0.read.workflows.iter();
        workflows.map(|graph| ToolInfo::of(&graph.workflow))
    }

    /// What is odd about it and does not keep it from being used.
    pub fn warnings(&self) -> &[Flaw] {
        &self.0.read.warnings
    }

    /// Its graphs, each with where it is to be found again.
    pub(super) fn graphs(&self) -> impl Iterator<Item = (Arc<Graph>, Value)> + '_ {
        let graphs = self.0.read.workflows.iter();
        graphs.map(|graph| (Arc::clone(graph), self.0.origin.clone()))
    }

    /// Its graphs and those beside it that they call, each with where it is to be found again.
    pub(super) fn callables(&self) -> impl Iterator<Item = (Arc<Graph>, Value)> + '_ {
        let beside = self.0.read.companions.iter();
        let beside = beside.map(|graph| (Arc::clone(graph), self.0.origin.clone()));
        self.graphs().chain(beside)
    }
}

/// What a caller needs to know of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub input_schema: Option<Json>,
    /// The JSON Schema of its result.
    pub output_schema: Option<Json>,
}

impl ToolInfo {
    fn of(workflow: &Workflow) -> Self {
        Self {
            name: workflow.name.to_string(),
            description: workflow.description.as_ref().map(ToString::to_string),
            input_schema: workflow.input_schema.as_ref().map(Json::from),
            output_schema: workflow.output_schema.as_ref().map(Json::from),
        }
    }
}
