//! A saved workflow: the original document and its metadata.

use super::error::LibraryError;
use super::name::WorkflowName;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_formats::{KnownServers, ReadOptions};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::WORKFLOW_SERVER;

use tramline_engine::ports::{Tool, ToolHints};

/// Largest document, in bytes, since agents read them.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// One version of a saved workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWorkflow {
    /// Its name in the library.
    pub name: Str,
    /// The version, counted from 1.
    pub version: u64,
    /// What it does, as described by the one who saved it.
    pub description: Str,
    /// The name of the document's format.
    pub format: Str,
    /// Which of the document's workflows it is, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Str>,
    /// Who saved it.
    pub by: Str,
    /// Whether the operator saved it. A workflow saved by an agent asks before destructive calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    /// The named caller who saved it; `None` for the operator and for unnamed callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Str>,
    /// When it was saved, in milliseconds since 1970.
    pub at_ms: i64,
    /// The document.
    pub text: Str,
}

impl SavedWorkflow {
    /// Whether it is the same workflow, regardless of who saved it and when.
    pub(super) fn is_same_workflow(&self, other: &Self) -> bool {
        self.text == other.text
            && self.description == other.description
            && self.tool == other.tool
            && self.name == other.name
    }

    /// Whether this caller may replace it: its owner or the operator.
    pub(super) fn is_replaceable_by(&self, saver: &Saver) -> bool {
        match (saver, &self.owner) {
            (Saver::Operator, _) => true,
            (Saver::Caller(_), _) if self.operator => false,
            (Saver::Caller(caller), Some(owner)) => caller.as_ref() == Some(owner),
            (Saver::Caller(None), None) => true,
            // Earlier releases stored a caller's name only in `by`.
            (Saver::Caller(Some(caller)), None) => self.by == *caller,
        }
    }

    /// The file name for an export.
    pub fn file_name(&self) -> String {
        let text = self.text.trim_start();
        let ending = if text.starts_with(['{', '[']) {
            "json"
        } else if self.format == "markdown workflow" {
            "pflow.md"
        } else {
            "yaml"
        };
        format!("{}.{ending}", self.name)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn decode(name: &str, body: &[u8]) -> Result<Self, LibraryError> {
        let damaged = |message: String| LibraryError::Damaged {
            name: name.into(),
            message,
        };
        let saved: Self =
            serde_json::from_slice(body).map_err(|error| damaged(error.to_string()))?;
        if saved.name != name {
            return Err(damaged(format!("its name is `{}`", saved.name)));
        }
        Ok(saved)
    }

    /// The workflow, ready to run under its name in the library.
    pub(super) fn graph(&self) -> Result<Arc<Graph>, LibraryError> {
        parse_workflow(
            &self.text,
            &self.name,
            self.tool.as_deref(),
            &self.description,
        )
        .map(|reading| match self.operator {
            true => reading.graph,
            false => Graph::cautious(&reading.graph),
        })
    }
}

/// A document parsed for the library.
#[derive(Debug)]
pub struct ParsedWorkflow {
    /// The name of its format.
    pub format: Str,
    /// The whole document.
    pub document: GraphDocument,
    /// The chosen workflow, under its name in the library.
    pub graph: Arc<Graph>,
}

/// Parses a document and selects the workflow to save under a name.
pub fn parse_workflow(
    text: &str,
    name: &str,
    tool: Option<&str>,
    description: &str,
) -> Result<ParsedWorkflow, LibraryError> {
    if text.len() > TEXT_BYTES_MAX {
        let bytes = text.len();
        return Err(LibraryError::TooLarge(format!(
            "the workflow has {bytes} bytes; the limit is {TEXT_BYTES_MAX}. Split it into several that call each other"
        )));
    }
    let hint = ReadOptions {
        name,
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    let read = tramline_formats::read(text.as_bytes(), hint).map_err(LibraryError::Flawed)?;
    let workflows = &read.document.workflows;
    let found = match (tool, workflows.as_slice()) {
        (Some(tool), _) => read.document.workflow(tool),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(found) = found else {
        let names = workflows
            .iter()
            .map(|graph| graph.workflow.name.to_string());
        return Err(LibraryError::Ambiguous(names.collect()));
    };
    let graph = renamed(found, name, description);
    Ok(ParsedWorkflow {
        format: read.format.name().into(),
        graph,
        document: read.document,
    })
}

/// The same workflow with the name and description of the library.
fn renamed(graph: &Arc<Graph>, name: &str, description: &str) -> Arc<Graph> {
    let mut workflow = (*graph.workflow).clone();
    workflow.name = name.into();
    if !description.is_empty() {
        workflow.description = Some(description.into());
    }
    // A graph that is valid under one name is valid under another.
    Graph::build(Arc::new(workflow))
        .map_or_else(|_| Arc::clone(graph), |(graph, _)| Arc::new(graph))
}

/// A cached workflow, compiled on its first call.
#[derive(Debug)]
pub(super) struct CachedWorkflow {
    pub(super) saved: Arc<SavedWorkflow>,
    compiled: OnceLock<Option<(Arc<Graph>, Arc<Tool>)>>,
}

impl CachedWorkflow {
    pub(super) fn new(saved: SavedWorkflow) -> Self {
        Self {
            saved: Arc::new(saved),
            compiled: OnceLock::new(),
        }
    }

    fn compiled(&self) -> Option<&(Arc<Graph>, Arc<Tool>)> {
        let made = self.compiled.get_or_init(|| {
            let graph = self.saved.graph().ok()?;
            let tool = Arc::new(as_tool(&graph));
            Some((graph, tool))
        });
        made.as_ref()
    }

    /// The workflow; `None` if this release of Tramline cannot read the document.
    pub(super) fn graph(&self) -> Option<&Arc<Graph>> {
        self.compiled().map(|(graph, _)| graph)
    }

    /// The workflow as a tool.
    pub(super) fn tool(&self) -> Option<&Arc<Tool>> {
        self.compiled().map(|(_, tool)| tool)
    }
}

/// Describes a workflow as a tool.
pub(crate) fn as_tool(graph: &Graph) -> Tool {
    let workflow = &graph.workflow;
    let any = || Value::object([("type", "object".into())]);
    Tool {
        name: ToolName::new(WORKFLOW_SERVER, workflow.name.clone()),
        title: workflow.title.clone(),
        description: workflow.description.clone(),
        input_schema: workflow.input_schema.clone().unwrap_or_else(any),
        output_schema: workflow.output_schema.clone(),
        hints: ToolHints::default(),
    }
}

/// A request to save a workflow.
#[derive(Clone, Debug)]
pub struct SaveRequest {
    /// The name to save under.
    pub name: WorkflowName,
    /// The document.
    pub text: Str,
    /// Which of its workflows to save, if there are several.
    pub tool: Option<Str>,
    /// What it does.
    pub description: Str,
    /// Who saves it.
    pub by: Str,
    /// Whether the operator saves it, not an agent.
    pub operator: bool,
    /// On whose behalf it is saved, which decides what it may replace.
    pub saver: Saver,
    /// Whether it becomes the next version of an existing workflow of that name.
    pub force: bool,
    /// Whether it may call itself, directly or indirectly.
    pub recursive: bool,
}

/// On whose behalf a workflow is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saver {
    /// The operator, who may replace everything.
    Operator,
    /// A caller with this name, or an unnamed one.
    Caller(Option<Str>),
}

impl Saver {
    pub(super) fn owner(&self) -> Option<Str> {
        match self {
            Self::Operator => None,
            Self::Caller(name) => name.clone(),
        }
    }
}
