//! A procedure as plain data: what its reader makes of a file, and what a journal keeps.
//!
//! Nothing here is indexed or compiled yet: that is [`Procedure`](crate::navigate::Procedure).

use crate::ids::NodeIx;
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

mod call_rules;
mod gather;

pub use call_rules::{CallRule, Demand, Lookup, Otherwise};
pub use gather::{FILES_MAX, Gathering, Wanted};

/// A written procedure: a flowchart with instructions for its nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sop {
    /// What it is called: the `agent` of its file.
    pub name: Str,
    /// Its version, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Str>,
    /// Where a conversation begins.
    pub entry: NodeIx,
    /// What the file says of the model to use.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub model: Value,
    /// What the file says of the servers to use.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub servers: Value,
    /// What happens to a move that is not allowed, and to a call unless `calls` says otherwise.
    #[serde(default)]
    pub mode: Mode,
    /// What happens to a call that is not allowed, where the file says so apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Mode>,
    /// Whether calls are held to the tools of the node where the conversation stands.
    pub gated: bool,
    /// Every tool that the file lists.
    pub tools: Vec<Str>,
    /// Tools that may be called anywhere: they change nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anywhere: Vec<Str>,
    /// Results of earlier calls that rules refer to by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<Lookup>,
    /// Rules that hold for calls at every node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// The text before and between its nodes, by section: what an agent is told at the beginning.
    pub sections: Vec<Section>,
    /// The flowchart as it is written.
    pub chart: Str,
    /// The nodes in the order of the drawing.
    pub nodes: Vec<Node>,
    /// The ways between them in the order of the drawing.
    pub edges: Vec<Edge>,
}

/// What happens to a move or a call that is not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It is refused.
    #[default]
    Strict,
    /// It is made, and the agent is told.
    Warn,
    /// It is made, and only the journal knows.
    Observe,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Warn, Self::Observe];

    /// The mode as users write it.
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
pub struct Section {
    /// The heading.
    pub title: Str,
    /// What stands under it.
    pub text: Str,
}

/// One node of a procedure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its id in the drawing.
    pub id: Str,
    /// What its shape is called.
    pub shape: Str,
    /// What is written in it.
    pub description: Str,
    /// The instructions for whoever stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Str>,
    /// Whether the file has a section for it, be it only tools or slots.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub section: bool,
    /// The tools that may be called there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Str>,
    /// The tools that must have been called before it is left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_call: Vec<AnyOf>,
    /// Examples, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    /// What is to be collected there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// Whether a person must agree to each call of a tool there, before it leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// Results of earlier calls that its rules refer to by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<Lookup>,
    /// Rules for calls that are made there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// How often it may be visited in one conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits_max: Option<u32>,
    /// Whether it may be gone to from anywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hub: bool,
    /// The other procedure that is walked there, by the path of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Str>,
}

impl Node {
    /// Whether something must be done here before the node is left.
    pub fn has_demands(&self) -> bool {
        !self.must_call.is_empty() || self.slots.iter().any(|slot| slot.required)
    }
}

/// Tools of which one must be called: one name, or several in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMore", into = "OneOrMore")]
pub struct AnyOf(pub Vec<Str>);

impl AnyOf {
    /// The tools as a text: `a`, or `a or b`.
    pub fn says(&self) -> String {
        self.0.join(" or ")
    }
}

/// How alternatives are written: a plain name, or a list of names.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Str),
    More(Vec<Str>),
}

impl From<OneOrMore> for AnyOf {
    fn from(written: OneOrMore) -> Self {
        match written {
            OneOrMore::One(name) => Self(vec![name]),
            OneOrMore::More(names) => Self(names),
        }
    }
}

impl From<AnyOf> for OneOrMore {
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

/// Something that a node collects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// Its name.
    pub name: Str,
    /// What it may be.
    #[serde(default)]
    pub kind: Kind,
    /// Whether the node may only be left once it is set.
    pub required: bool,
    /// The values it may have; any, if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Value>,
    /// What it is, for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Str>,
}

/// What a slot may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
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

impl Kind {
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

    /// The kind as users write it.
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

    /// Whether a value is of this kind.
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

/// A way from one node to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The node it leaves.
    pub from: NodeIx,
    /// The node it enters.
    pub to: NodeIx,
    /// What is written on it.
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
    pub fn call_mode(&self) -> Mode {
        self.calls.unwrap_or(self.mode)
    }

    /// What an agent is told at the beginning: the sections of the file, with the flowchart as it is
    /// written.
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

    /// The names of the servers that the file lists, in its order.
    pub fn server_names(&self) -> Vec<Str> {
        if let Some(map) = self.servers.as_object() {
            return map.iter().map(|(name, _)| name.clone()).collect();
        }
        let items = self.servers.as_array().unwrap_or_default().iter();
        let named = items.filter_map(|it| it.get("name").unwrap_or(it).as_str());
        named.map(Into::into).collect()
    }

    /// Every tool that the file names anywhere.
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
