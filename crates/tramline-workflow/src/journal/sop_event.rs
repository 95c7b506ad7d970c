//! The events of an SOP session: moves, notes, calls through the gate, refusals.

use crate::failure::Failure;
use crate::ids::{NodeIx, RunId, StepNo, ToolName};
use crate::sop::Sop;
use crate::todo::Todo;
use crate::trace_context::TraceContext;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

/// How an SOP session starts. In memory it holds the procedures; in the journal it refers to them
/// by digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SopStarted<S = Arc<Sop>> {
    /// The procedure, followed by those that its nodes enter.
    pub sops: Vec<S>,
    /// The paths by which nodes refer to the second and later procedures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Str>,
    /// The caller's label for grouping runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Str>,
    /// Who started it.
    pub by: Str,
    /// Where to find its document again; the format belongs to the front end.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// Who owns it; the format belongs to the front end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Str>,
    /// How long it waits for the next request before it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The name of the pinned procedure, if the operator pinned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Str>,
    /// Calls of the sessions that it replaces, which still count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<CarriedCall>,
}

impl<S> SopStarted<S> {
    /// Replaces the form of the procedures.
    pub fn with_sops<V>(self, sops: Vec<V>) -> SopStarted<V> {
        let Self {
            sops: _,
            files,
            session,
            by,
            origin,
            owner,
            ttl_ms,
            pinned,
            carried,
        } = self;
        SopStarted {
            sops,
            files,
            session,
            by,
            origin,
            owner,
            ttl_ms,
            pinned,
            carried,
        }
    }
}

/// A node of one of the procedures of an SOP session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SopPosition {
    /// The procedure, by index.
    pub sop: u32,
    /// The node.
    pub node: NodeIx,
}

/// Why a move was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// To the entry: the path starts over.
    Entry,
    /// Along an edge.
    Edge,
    /// To the current node.
    Again,
    /// To a hub.
    Hub,
    /// Into the procedure of a node.
    Into,
    /// Out of a finished procedure, along an edge of the node that entered it.
    Back,
    /// It was not allowed, but the mode let it through.
    Off,
}

/// A move to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SopMove {
    /// The target.
    pub to: SopPosition,
    /// Why it was allowed.
    pub way: MoveKind,
    /// Whether it followed automatically, without a request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// The guards that were evaluated, with their operands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<GuardEvaluation>,
    /// The reason, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str>,
    /// The evidence, in the agent's words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub evidence: Value,
    /// Why it was not allowed, if the mode let it through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Str>,
}

/// A guard as it was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardEvaluation {
    /// The target node of its edge.
    pub to: Str,
    /// Whether it holds; `None` while an operand is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// Its operands: pairs of `what` and `value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<(Str, Value)>,
}

/// Something the session recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionNote {
    /// The complete task list.
    Todos(Vec<Todo>),
    /// Slots that were set, an object.
    Slots(Value),
}

/// A call that is about to be sent, or that a person has to approve first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCalled {
    /// Its number, from 1.
    pub call: u32,
    /// The tool.
    pub tool: ToolName,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// How the user agreed, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Str>,
    /// Why it was not allowed, if the mode let it through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Str>,
    /// The approval run in which a person decides about the call and in which it is then made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The step that makes the call, if a run makes it rather than the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<CallingStep>>,
    /// Whether the bare tool name meant another tool, or none, at the time of the call. If so, the
    /// call only counts under its full name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_other: bool,
    /// The caller's trace context, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Box<TraceContext>>,
    /// The rules that were evaluated before the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CheckedRule>,
    /// The places in the arguments that are not as they were sent, as JSON pointers: they held
    /// secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Str>,
    /// The call in doubt that it repeats, where a limit counts that call: a person approves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
}

/// A call of an earlier session of the same caller, which still counts in the session that replaces
/// it. Its number is that of the new session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedCall {
    /// The session that it was taken from.
    pub session: RunId,
    /// The call.
    pub called: ToolCalled,
    /// What is known of its effect.
    pub state: CarriedState,
}

/// What is known of the effect of a call of an earlier session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CarriedState {
    /// It has no result: the same call must not be repeated silently.
    InDoubt,
    /// It had, or may have had, an effect.
    Made,
    /// It failed without an effect.
    Failed,
}

/// A call rule as it was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedRule {
    /// The field that contains it: `args`, `once_per` or `max_calls`.
    pub rule: Str,
    /// The source of the rule.
    pub source: Value,
    /// Whether it holds; `None` if that cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// The operands with their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<(Str, Value)>,
    /// Why it cannot be decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Str>,
    /// The author's message for a call that violates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Str>,
    /// Whether a person decides about such a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
}

/// Operands as a list of `what` and `value`.
pub fn operands_value(operands: &[(Str, Value)]) -> Value {
    let told = operands.iter().map(|(what, value)| {
        Value::object([("what", what.clone().into()), ("value", value.clone())])
    });
    Value::array(told)
}

/// Characters of an operand's value shown in a sentence, to keep it readable; front ends get all of
/// it.
const VALUE_CHARS_MAX: usize = 120;

impl CheckedRule {
    /// The rule as a sentence: the author's message or the source, with the operands.
    pub fn describe(&self) -> String {
        let source = match &self.source {
            Value::String(text) => text.to_string(),
            other => other.to_json(),
        };
        let what = match &self.message {
            Some(message) => message.to_string(),
            None if self.holds == Some(false) => {
                format!("the rule `{}: {source}` does not hold", self.rule)
            }
            None => format!("`{}: {source}`", self.rule),
        };
        let operands = self.operands.iter().map(|(name, value)| {
            let value: String = value.to_json().chars().take(VALUE_CHARS_MAX).collect();
            format!("{name} = {value}")
        });
        let operands: Vec<String> = operands.collect();
        match operands.is_empty() {
            true => what,
            false => format!("{what} ({})", operands.join(", ")),
        }
    }

    /// The rule as a value for replies and traces.
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

/// The step of a run that makes a call in an SOP session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallingStep {
    /// The run.
    pub run: RunId,
    /// The step of the run.
    pub step: StepNo,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswered {
    /// The number of the call.
    pub call: u32,
    /// The output.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Who decided, if a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Str>,
    /// The arguments actually used, if the person who approved the call changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<Value>,
    /// The places in the output that held secrets, as JSON pointers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Str>,
}

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedRequest {
    /// Whether a move or a call was requested.
    pub what: RequestKind,
    /// The node or tool.
    pub target: Str,
    /// Why it was refused.
    pub why: Str,
    /// The rules that were evaluated, for a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CheckedRule>,
}

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// A move to a node.
    Move,
    /// A call of a tool.
    Call,
}
