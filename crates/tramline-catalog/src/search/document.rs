//! The searchable document of a tool or workflow.

use super::tokenize::split_name;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::WORKFLOW_SERVER;

use tramline_engine::ports::Tool;

/// Most parameters that are indexed. More of them say nothing new about the purpose of a tool.
const PARAMETERS_MAX: usize = 64;
/// Most past requests that are indexed, newest first. Older ones add nothing new.
pub const PAST_REQUESTS_MAX: usize = 64;

/// How much of a text is embedded, in bytes. Models do not read more.
const EMBEDDED_BYTES_MAX: usize = 2 * 1_024;

/// What a document describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocumentKind {
    /// A server's tool.
    Tool,
    /// A built-in tool.
    Builtin,
    /// A saved workflow.
    Workflow,
}

impl DocumentKind {
    /// The kind of a tool, which follows from its server.
    pub fn of(name: &ToolName) -> Self {
        match name.server.as_str() {
            WORKFLOW_SERVER => Self::Workflow,
            BUILTIN => Self::Builtin,
            _ => Self::Tool,
        }
    }

    /// The kind as a lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Builtin => "builtin",
            Self::Workflow => "workflow",
        }
    }
}

/// The searchable document of a tool or workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDocument {
    /// The unique name: `server:tool`, or a workflow's name.
    pub id: Str,
    /// What it describes.
    pub kind: DocumentKind,
    /// The name without the server.
    pub name: Str,
    /// The server's name; empty for a workflow.
    pub server: Str,
    /// A title for people.
    pub title: Option<Str>,
    /// What it does.
    pub description: Str,
    /// The names of its arguments.
    pub parameters: Vec<Str>,
    /// Requests for which it was called successfully, newest last.
    pub past_requests: Vec<Str>,
}

impl SearchDocument {
    /// A document with only a name and a description.
    pub fn new(kind: DocumentKind, id: impl Into<Str>, description: impl Into<Str>) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            kind,
            server: Str::default(),
            title: None,
            description: description.into(),
            parameters: Vec::new(),
            past_requests: Vec::new(),
        }
    }

    /// The document of a tool.
    pub fn of_tool(kind: DocumentKind, tool: &Tool) -> Self {
        let properties = tool.input_schema.get("properties");
        let properties = properties.and_then(Value::as_object);
        Self {
            id: tool.name.to_string().into(),
            kind,
            name: tool.name.tool.clone(),
            server: tool.name.server.clone(),
            title: tool.title.clone(),
            description: tool.description.clone().unwrap_or_default(),
            parameters: properties
                .into_iter()
                .flat_map(|all| all.keys().cloned())
                .collect(),
            past_requests: Vec::new(),
        }
    }

    /// The text that is embedded, without past requests.
    pub fn text(&self) -> String {
        let name = split_name(&format!("{} {}", self.server, self.name));
        let title = self.title.as_deref().unwrap_or_default();
        let text = format!("{name} {title}. {}", self.description);
        embedded_prefix(&text).to_owned()
    }

    /// The parameters that are indexed.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &Str> {
        self.parameters.iter().take(PARAMETERS_MAX)
    }

    /// The past requests that are indexed.
    pub(super) fn past_requests(&self) -> impl Iterator<Item = &Str> {
        let from = self.past_requests.len().saturating_sub(PAST_REQUESTS_MAX);
        self.past_requests[from..].iter()
    }
}

/// The part of a text that is embedded.
pub(super) fn embedded_prefix(text: &str) -> &str {
    &text[..text.floor_char_boundary(EMBEDDED_BYTES_MAX)]
}
