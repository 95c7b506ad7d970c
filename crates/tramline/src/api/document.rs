//! A loaded document: its name, its tools, its warnings.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_expr::Value;
use tramline_formats::yaml_graph;
use tramline_workflow::flaw::Flaw;
use tramline_workflow::graph::Graph;
use tramline_workflow::workflow::Workflow;

/// A loaded document. Clones share it.
#[derive(Clone, Debug)]
pub struct Document(pub(super) Arc<DocumentInner>);

#[derive(Debug)]
pub(super) struct DocumentInner {
    pub(super) path: Option<PathBuf>,
    pub(super) parsed: yaml_graph::GraphDocument,
    /// How runs locate it again.
    pub(super) origin: Value,
}

impl Document {
    /// The server name it declares.
    pub fn name(&self) -> &str {
        &self.0.parsed.server.name
    }

    /// Its file, if it was loaded from one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Its tools, in document order.
    pub fn tools(&self) -> impl Iterator<Item = ToolInfo> + '_ {
        let workflows = self.0.parsed.workflows.iter();
        workflows.map(|graph| ToolInfo::of(&graph.workflow))
    }

    /// Problems that do not prevent its use.
    pub fn warnings(&self) -> &[Flaw] {
        &self.0.parsed.warnings
    }

    /// Its graphs, each with the origin that locates it again.
    pub(super) fn graphs(&self) -> impl Iterator<Item = (Arc<Graph>, Value)> + '_ {
        let graphs = self.0.parsed.workflows.iter();
        graphs.map(|graph| (Arc::clone(graph), self.0.origin.clone()))
    }

    /// Its graphs and the ones they call by path, each with the origin that locates it again.
    pub(super) fn callables(&self) -> impl Iterator<Item = (Arc<Graph>, Value)> + '_ {
        let beside = self.0.parsed.linked_workflows.iter();
        let beside = beside.map(|graph| (Arc::clone(graph), self.0.origin.clone()));
        self.graphs().chain(beside)
    }
}

/// A tool as callers see it.
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
    pub(super) fn of_tool(tool: &tramline_engine::ports::Tool) -> Self {
        Self {
            name: tool.name.to_string(),
            description: tool.description.as_ref().map(ToString::to_string),
            input_schema: Some(Json::from(&tool.input_schema)),
            output_schema: tool.output_schema.as_ref().map(Json::from),
        }
    }

    fn of(workflow: &Workflow) -> Self {
        Self {
            name: workflow.name.to_string(),
            description: workflow.description.as_ref().map(ToString::to_string),
            input_schema: workflow.input_schema.as_ref().map(Json::from),
            output_schema: workflow.output_schema.as_ref().map(Json::from),
        }
    }
}
