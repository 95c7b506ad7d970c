//! What happens in a guided run: moves, notes, calls through the gate, refusals.

use crate::failure::Failure;
use crate::ids::{NodeIx, RunId, StepNo, ToolName};
use crate::sop::Sop;
use crate::todo::Todo;
use crate::upstream::Upstream;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

/// How a guided run begins. In memory the procedures are whole; a journal's line refers to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guided<S = Arc<Sop>> {
    /// The procedure, and after it those that its nodes lead into.
    pub sops: Vec<S>,
    /// By what nodes name the second and later ones: the paths of their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Str>,
    /// The caller's label that groups runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Str>,
    /// Who began it.
    pub by: Str,
    /// Where its document is to be found again: the front end's own words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// Whose it is, in the front end's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Str>,
    /// How long it waits for its agent's next word before it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The procedure that the operator had pinned, by its name, if it is one of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Str>,
}

impl<S> Guided<S> {
    /// The same with the procedures in another form.
    pub fn with<V>(self, sops: Vec<V>) -> Guided<V> {
        let Self {
            sops: _,
            files,
            session,
            by,
            origin,
            owner,
            ttl_ms,
            pinned,
        } = self;
        Guided {
            sops,
            files,
            session,
            by,
            origin,
            owner,
            ttl_ms,
            pinned,
        }
    }
}

/// A node of one of the procedures of a guided run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stand {
    /// Which procedure, by its place.
    pub sop: u32,
    /// Which of its nodes.
    pub node: NodeIx,
}

/// By which right a move was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// To the entry: the path begins anew.
    Entry,
    /// Along an edge.
    Edge,
    /// To where it stands.
    Again,
    /// To a hub.
    Hub,
    /// Into the procedure of a node.
    Into,
    /// Out of a procedure that is done, along an edge of the node that led into it.
    Back,
    /// By none: it was let pass.
    Off,
}

/// A move to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Where to.
    pub to: Stand,
    /// By which right.
    pub way: Way,
    /// Whether nobody asked for it: it followed by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// The guards that were weighed, with their operands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<Weighed>,
    /// Why, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str>,
    /// On what grounds, in the agent's words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub evidence: Value,
    /// Why it was not allowed, where it was let pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Str>,
}

/// A guard as it was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// The node that its edge leads to.
    pub to: Str,
    /// Whether it holds; nothing while an operand is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// What it was made of: pairs of `what` and `value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<(Str, Value)>,
}

/// Something that was written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The list of tasks, whole.
    Todos(Vec<Todo>),
    /// Slots that were set, an object.
    Slots(Value),
}

/// A call that is about to leave, or about which a person is asked first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCalled {
    /// Its number, from 1.
    pub call: u32,
    /// Which tool.
    pub tool: ToolName,
    /// What it is called with.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// How the user agreed, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Str>,
    /// Why it was not allowed, where it was let pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Str>,
    /// The run in which a person is asked about it, and in which it is then made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The step of a run that makes it, where it is not the agent's own call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<CallingStep>>,
    /// Whether its name without the server meant another tool, or none, when it was called: then it
    /// counts by its whole name only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_other: bool,
    /// The span of its caller's that it belongs to, if the caller named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Box<Upstream>>,
    /// The rules that were evaluated before it left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleChecked>,
}

/// A rule over a call as it was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleChecked {
    /// The field it is written in: `args`, `once_per` or `max_calls`.
    pub rule: Str,
    /// What it says, as written.
    pub source: Value,
    /// Whether it holds; nothing if that cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// The operands with their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<(Str, Value)>,
    /// Why it cannot be decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Str>,
    /// What its author says to a call for which it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Str>,
    /// Whether a person decides about such a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
}

/// Operands as data: a list of `what` and `value`.
pub(crate) fn operands_value(operands: &[(Str, Value)]) -> Value {
    let told = operands.iter().map(|(what, value)| {
        Value::object([("what", what.clone().into()), ("value", value.clone())])
    });
    Value::array(told)
}

impl RuleChecked {
    /// The rule as data for replies and traces.
    pub fn to_value(&self) -> Value {
        let mut told = Map::new();
        told.insert("rule", self.rule.clone().into());
        told.insert("source", self.source.clone());
        told.insert("holds", self.holds.map_or(Value::Null, Value::Bool));
        told.insert("operands", operands_value(&self.operands));
        if let Some(message) = &self.message {
            told.insert("message", message.clone().into());
        }
        if !self.missing.is_empty() {
            let missing = self.missing.iter().map(|it| it.clone().into());
            told.insert("missing", Value::array(missing));
        }
        told.into()
    }
}

/// The step of a run that makes a call in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallingStep {
    /// Which run.
    pub run: RunId,
    /// Which of its steps.
    pub step: StepNo,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswered {
    /// Its number.
    pub call: u32,
    /// What it gave.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Who decided about it, where a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Str>,
    /// What it was called with, where the person who agreed has changed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<Value>,
}

/// Something that was asked for and not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// A move to a node, or a call of a tool.
    pub what: Asked,
    /// Which node or tool.
    pub target: Str,
    /// Why not.
    pub why: Str,
    /// The rules that were evaluated, for a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleChecked>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// To move to a node.
    Move,
    /// To call a tool.
    Call,
}
