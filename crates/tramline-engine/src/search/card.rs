//! What is known of one callable thing, for finding it.

use super::words::parts;
use tramline_core::formats::yaml_graph::BUILTIN;
use tramline_core::ids::ToolName;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Str, Value};

use crate::seams::Tool;

/// More parameters than this say nothing more about what a tool is for.
const PARAMETERS_MAX: usize = 64;
/// So many past wishes count, the newest: beyond them a card says what it said already.
pub const WISHES_MAX: usize = 64;

/// A text's first part that is embedded, in bytes: models read no more of it.
const EMBEDDED_BYTES_MAX: usize = 2 * 1_024;

/// What a card stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A server's tool.
    Tool,
    /// A tool that needs no server.
    Builtin,
    /// A saved workflow.
    Workflow,
}

impl Kind {
    /// What a name stands for: its server tells.
    pub fn of(name: &ToolName) -> Self {
        match name.server.as_str() {
            WORKFLOW_SERVER => Self::Workflow,
            BUILTIN => Self::Builtin,
            _ => Self::Tool,
        }
    }

    /// The kind in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Builtin => "builtin",
            Self::Workflow => "workflow",
        }
    }
}

/// What is known of one callable thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What it is called by: `server:tool`, or a workflow's name. One card for each.
    pub id: Str,
    /// What it stands for.
    pub kind: Kind,
    /// Its own name, without its server's.
    pub name: Str,
    /// Its server's name, or nothing.
    pub server: Str,
    /// A title for people.
    pub title: Option<Str>,
    /// What it does.
    pub description: Str,
    /// The names of its arguments.
    pub parameters: Vec<Str>,
    /// What was wished for when it was called and did well, newest last.
    pub wishes: Vec<Str>,
}

impl Card {
    /// A card with a name and what it does, and nothing else.
    pub fn new(kind: Kind, id: impl Into<Str>, description: impl Into<Str>) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            kind,
            server: Str::default(),
            title: None,
            description: description.into(),
            parameters: Vec::new(),
            wishes: Vec::new(),
        }
    }

    /// The card of a tool.
    pub fn of_tool(kind: Kind, tool: &Tool) -> Self {
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
            wishes: Vec::new(),
        }
    }

    /// What is embedded of it, its wishes left out.
    pub fn text(&self) -> String {
        let name = parts(&format!("{} {}", self.server, self.name));
        let title = self.title.as_deref().unwrap_or_default();
        let text = format!("{name} {title}. {}", self.description);
        embedded(&text).to_owned()
    }

    /// The parameters that count.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &Str> {
        self.parameters.iter().take(PARAMETERS_MAX)
    }

    /// The past wishes that count.
    pub(super) fn wishes(&self) -> impl Iterator<Item = &Str> {
        let from = self.wishes.len().saturating_sub(WISHES_MAX);
        self.wishes[from..].iter()
    }
}

/// As much of a text as is embedded.
pub(super) fn embedded(text: &str) -> &str {
    &text[..text.floor_char_boundary(EMBEDDED_BYTES_MAX)]
}
