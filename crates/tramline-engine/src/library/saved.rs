//! A saved workflow: the document as it was written, and what is known of it beside.

use super::name::Name;
use super::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use tramline_core::formats::yaml_graph::Document;
use tramline_core::formats::{self, Elsewhere, Hint};
use tramline_core::graph::Graph;
use tramline_core::ids::ToolName;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Str, Value};

use crate::seams::{Hints, Tool};

/// Larger documents are not saved: agents read them.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// A saved workflow in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Its name in the library.
    pub name: Str,
    /// Counts from 1.
    pub version: u64,
    /// What it does, in the words of whoever saved it.
    pub description: Str,
    /// The document's format, as people call it.
    pub format: Str,
    /// Which of the document's workflows it is, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Str>,
    /// By whom it was saved.
    pub by: Str,
    /// Whether the operator saved it. What an agent saved asks before destructive calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    /// The named caller who saved it; nothing for the operator and for callers without names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Str>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The document.
    pub text: Str,
}

impl Saved {
    /// Whether it is the same workflow, whoever saved it and whenever.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.text == other.text
            && self.description == other.description
            && self.tool == other.tool
            && self.name == other.name
    }

    /// Whether somebody may replace it: who saved it, and the operator.
    pub(super) fn is_replaceable_by(&self, saver: &Saver) -> bool {
        match (saver, &self.owner) {
            (Saver::Operator, _) => true,
            (Saver::Caller(_), _) if self.operator => false,
            (Saver::Caller(caller), Some(owner)) => caller.as_ref() == Some(owner),
            (Saver::Caller(None), None) => true,
            // Earlier versions kept the name of a caller in `by` alone.
            (Saver::Caller(Some(caller)), None) => self.by == *caller,
        }
    }

    /// What a file of it is called.
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

    pub(super) fn decode(name: &str, body: &[u8]) -> Result<Self, Refusal> {
        let damaged = |message: String| Refusal::Damaged {
            name: name.into(),
            message,
        };
        let saved: Self =
            serde_json::from_slice(body).map_err(|error| damaged(error.to_string()))?;
        if saved.name != name {
            return Err(damaged(format!("it says that it is `{}`", saved.name)));
        }
        Ok(saved)
    }

    /// The workflow, ready to run under its name in the library.
    pub(super) fn graph(&self) -> Result<Arc<Graph>, Refusal> {
        read(
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

/// A document read for the library.
#[derive(Debug)]
pub struct Reading {
    /// Its format, as people call it.
    pub format: Str,
    /// All of it.
    pub document: Document,
    /// The one workflow of it, under its name in the library.
    pub graph: Arc<Graph>,
}

/// Reads a document and takes the workflow out of it that is to be saved under a name.
pub fn read(
    text: &str,
    name: &str,
    tool: Option<&str>,
    description: &str,
) -> Result<Reading, Refusal> {
    if text.len() > TEXT_BYTES_MAX {
        let bytes = text.len();
        return Err(Refusal::TooLarge(format!(
            "the workflow has {bytes} bytes; {TEXT_BYTES_MAX} can be saved. Split it into several that call each other"
        )));
    }
    let hint = Hint {
        name,
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    let read = formats::read(text.as_bytes(), hint).map_err(Refusal::Flawed)?;
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
        return Err(Refusal::Several(names.collect()));
    };
    let graph = called(found, name, description);
    Ok(Reading {
        format: read.format.name().into(),
        graph,
        document: read.document,
    })
}

/// The same workflow under another name, described in the library's words.
fn called(graph: &Arc<Graph>, name: &str, description: &str) -> Arc<Graph> {
    let mut workflow = (*graph.workflow).clone();
    workflow.name = name.into();
    if !description.is_empty() {
        workflow.description = Some(description.into());
    }
    // What was sound under one name is sound under another.
    Graph::build(Arc::new(workflow))
        .map_or_else(|_| Arc::clone(graph), |(graph, _)| Arc::new(graph))
}

/// A saved workflow in memory, compiled when it is first called.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) saved: Arc<Saved>,
    ready: OnceLock<Option<(Arc<Graph>, Arc<Tool>)>>,
}

impl Kept {
    pub(super) fn new(saved: Saved) -> Self {
        Self {
            saved: Arc::new(saved),
            ready: OnceLock::new(),
        }
    }

    fn ready(&self) -> Option<&(Arc<Graph>, Arc<Tool>)> {
        let made = self.ready.get_or_init(|| {
            let graph = self.saved.graph().ok()?;
            let tool = Arc::new(as_tool(&graph));
            Some((graph, tool))
        });
        made.as_ref()
    }

    /// The workflow; nothing where a later version of Tramline reads the document otherwise.
    pub(super) fn graph(&self) -> Option<&Arc<Graph>> {
        self.ready().map(|(graph, _)| graph)
    }

    /// The same as a tool.
    pub(super) fn tool(&self) -> Option<&Arc<Tool>> {
        self.ready().map(|(_, tool)| tool)
    }
}

/// A workflow as everything callable is described.
pub(crate) fn as_tool(graph: &Graph) -> Tool {
    let workflow = &graph.workflow;
    let any = || Value::object([("type", "object".into())]);
    Tool {
        name: ToolName::new(WORKFLOW_SERVER, workflow.name.clone()),
        title: workflow.title.clone(),
        description: workflow.description.clone(),
        input_schema: workflow.input_schema.clone().unwrap_or_else(any),
        output_schema: workflow.output_schema.clone(),
        hints: Hints::default(),
    }
}

/// What is to be saved.
#[derive(Clone, Debug)]
pub struct Save {
    /// Under which name.
    pub name: Name,
    /// The document.
    pub text: Str,
    /// Which of its workflows, where there are several.
    pub tool: Option<Str>,
    /// What it does.
    pub description: Str,
    /// By whom.
    pub by: Str,
    /// Whether the operator saves it, and no agent.
    pub operator: bool,
    /// On whose behalf: who may replace what has the name already.
    pub saver: Saver,
    /// Whether it becomes the next version of what has the name already.
    pub force: bool,
    /// Whether it may call itself, directly or through others.
    pub recursive: bool,
}

/// On whose behalf a workflow is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saver {
    /// The operator, who may replace everything.
    Operator,
    /// A caller with this name, or without one.
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
