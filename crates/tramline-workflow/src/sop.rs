//! A procedure as plain data: what a reader produces from a file, and what a journal stores.
//!
//! Nothing here is indexed or compiled; [`Procedure`](tramline_sop::Procedure) is.

use crate::ids::NodeIx;
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

mod call_rules;
mod includes;

pub use call_rules::{CallLookup, CallRule, OnViolation, RuleDemand};
pub use includes::{FILES_MAX, SopFileRequest, SopFiles};

/// The shape of the nodes at which a procedure starts or ends.
pub const END_SHAPE: &str = "stadium";
/// The shape of a decision.
pub const DECISION_SHAPE: &str = "rhombus";

/// A written procedure: a flowchart with instructions for its nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sop {
    /// The name: the `agent` of its file.
    pub name: Str,
    /// The version, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Str>,
    /// The node where a session starts.
    pub entry: NodeIx,
    /// The file's settings for the model.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub model: Value,
    /// The file's settings for servers.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub servers: Value,
    /// What happens to a move that is not allowed, and to a call unless `calls` is set.
    #[serde(default)]
    pub mode: SopMode,
    /// What happens to a call that is not allowed, if the file sets it separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<SopMode>,
    /// Whether calls are restricted to the tools of the current node.
    pub gated: bool,
    /// Every tool that the file lists.
    pub tools: Vec<Str>,
    /// Read-only tools that may be called at any node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anywhere: Vec<Str>,
    /// Results of earlier calls that rules refer to by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<CallLookup>,
    /// Rules for calls at every node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// The text before and between its nodes, by section: the agent's initial instructions.
    pub sections: Vec<SopSection>,
    /// The source of the flowchart.
    pub chart: Str,
    /// The nodes in flowchart order.
    pub nodes: Vec<SopNode>,
    /// The edges in flowchart order.
    pub edges: Vec<SopEdge>,
}

/// What happens to a move or a call that is not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SopMode {
    /// It is refused.
    #[default]
    Strict,
    /// It is made, and the agent gets a warning.
    Warn,
    /// It is made, and only recorded in the journal.
    Observe,
}

impl SopMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Warn, Self::Observe];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Warn => "warn",
            Self::Observe => "observe",
        }
    }
}

/// A section of the file under its heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SopSection {
    /// The heading.
    pub title: Str,
    /// The text under the heading.
    pub text: Str,
}

/// One node of a procedure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SopNode {
    /// The id in the flowchart.
    pub id: Str,
    /// The name of its shape.
    pub shape: Str,
    /// The text in the node.
    pub description: Str,
    /// The instructions for the agent at this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Str>,
    /// Whether the file has a section for it, even with only tools or slots.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub section: bool,
    /// The tools that may be called at this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Str>,
    /// The tools that must be called before the node is left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_call: Vec<AnyOf>,
    /// Examples, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    /// The slots to collect at this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// Whether a person must approve each tool call at this node before it is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// Results of earlier calls that its rules refer to by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<CallLookup>,
    /// Rules for calls at this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// The visit limit per session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits_max: Option<u32>,
    /// Whether it may be entered from anywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hub: bool,
    /// The nested procedure, by the path of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Str>,
}

impl SopNode {
    /// Whether something must be done before the node is left.
    pub fn has_demands(&self) -> bool {
        !self.must_call.is_empty() || self.slots.iter().any(|slot| slot.required)
    }
}

/// Alternative tools, one of which must be called: one name, or several in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AnyOfRepr", into = "AnyOfRepr")]
pub struct AnyOf(pub Vec<Str>);

impl AnyOf {
    /// The tools as text: `a`, or `a or b`.
    pub fn describe(&self) -> String {
        self.0.join(" or ")
    }
}

/// The serialized form of alternatives: a single name, or a list of names.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AnyOfRepr {
    One(Str),
    More(Vec<Str>),
}

impl From<AnyOfRepr> for AnyOf {
    fn from(written: AnyOfRepr) -> Self {
        match written {
            AnyOfRepr::One(name) => Self(vec![name]),
            AnyOfRepr::More(names) => Self(names),
        }
    }
}

impl From<AnyOf> for AnyOfRepr {
    fn from(mut any: AnyOf) -> Self {
        match (any.0.len(), any.0.pop()) {
            (1, Some(only)) => Self::One(only),
            (_, last) => {
                any.0.extend(last);
                Self::More(any.0)
            }
        }
    }
}

/// A value that a node collects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// Its name.
    pub name: Str,
    /// The type of its value.
    #[serde(default)]
    pub kind: SlotKind,
    /// Whether it must be set before the node is left.
    pub required: bool,
    /// The allowed values; empty allows any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Value>,
    /// The description for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Str>,
}

/// The type of a slot's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotKind {
    /// Anything.
    #[default]
    Any,
    /// Text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl SlotKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Any,
        Self::String,
        Self::Number,
        Self::Integer,
        Self::Boolean,
        Self::Array,
        Self::Object,
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Whether a value has this type.
    pub fn fits(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::String => value.as_str().is_some(),
            Self::Number => value.as_f64().is_some(),
            Self::Integer => value.as_i64().is_some() || value.as_u64().is_some(),
            Self::Boolean => value.as_bool().is_some(),
            Self::Array => value.as_array().is_some(),
            Self::Object => value.as_object().is_some(),
        }
    }
}

/// An edge from one node to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SopEdge {
    /// The source node.
    pub from: NodeIx,
    /// The target node.
    pub to: NodeIx,
    /// The label in the flowchart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Str>,
    /// When it may be taken: JSONata as text, or a JSON Logic rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Value>,
}

impl Sop {
    /// The node with this id.
    pub fn find(&self, id: &str) -> Option<NodeIx> {
        let place = self.nodes.iter().position(|node| node.id == id)?;
        Some(NodeIx(place as u32))
    }

    /// What happens to a call that is not allowed.
    pub fn call_mode(&self) -> SopMode {
        self.calls.unwrap_or(self.mode)
    }

    /// The agent's initial instructions: the sections of the file, with the source of the
    /// flowchart.
    pub fn system_prompt(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            text.push_str(&format!("## {}\n\n{}\n\n", section.title, section.text));
        }
        if !text.contains("```mermaid") {
            text.push_str(&format!(
                "## SOP Flowchart\n\n```mermaid\n{}\n```\n",
                self.chart
            ));
        }
        text.trim_end().to_owned()
    }

    /// The names of the servers that the file lists, in order.
    pub fn server_names(&self) -> Vec<Str> {
        if let Some(map) = self.servers.as_object() {
            return map.iter().map(|(name, _)| name.clone()).collect();
        }
        let items = self.servers.as_array().unwrap_or_default().iter();
        let named = items.filter_map(|it| it.get("name").unwrap_or(it).as_str());
        named.map(Into::into).collect()
    }

    /// Every tool that can be called at some node.
    pub fn callable_tools(&self) -> Vec<Str> {
        let nodes = self.nodes.iter().flat_map(|node| &node.tools);
        self.anywhere.iter().chain(nodes).cloned().collect()
    }

    /// Every tool that the file mentions.
    pub fn named_tools(&self) -> Vec<Str> {
        let nodes = self.nodes.iter().flat_map(|node| {
            node.tools
                .iter()
                .chain(node.must_call.iter().flat_map(|it| &it.0))
        });
        let mut seen = std::collections::HashSet::new();
        let all = self.tools.iter().chain(&self.anywhere).chain(nodes);
        all.filter(|tool| seen.insert(*tool)).cloned().collect()
    }
}
