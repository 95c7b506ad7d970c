//! Rules over a tool's arguments and earlier calls, and the look-ups they refer to.

use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// A condition that must hold before a tool is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRule {
    /// The tools it applies to, with or without their servers.
    pub tools: Vec<Str>,
    /// The requirement.
    pub demand: RuleDemand,
    /// The author's message to the agent when it is violated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Str>,
    /// What happens when it is violated.
    #[serde(default)]
    pub otherwise: OnViolation,
}

/// What a rule requires of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleDemand {
    /// This condition holds: JSONata as text, or JSON Logic.
    Args(Value),
    /// This expression has a value that no earlier call in the session had.
    OncePer {
        /// JSONata as text, or JSON Logic.
        value: Value,
        /// Other tools whose calls also count.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<Str>,
    },
    /// The tool was called fewer times than this in the session.
    MaxCalls(u32),
}

impl RuleDemand {
    /// The name of the document field.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Args(_) => "args",
            Self::OncePer { .. } => "once_per",
            Self::MaxCalls(_) => "max_calls",
        }
    }
}

/// What happens to a call that violates a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnViolation {
    /// It is refused.
    #[default]
    Refuse,
    /// A person decides.
    Ask,
}

impl OnViolation {
    /// All values, for messages.
    pub const ALL: [Self; 2] = [Self::Refuse, Self::Ask];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Ask => "ask",
        }
    }
}

/// A named result of an earlier call, found by the arguments of that call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallLookup {
    /// The name: rules use it as `lookups.NAME`.
    pub name: Str,
    /// The tools whose results it uses; the latest call wins. The first one is the tool to call
    /// when the result is missing.
    pub tools: Vec<Str>,
    /// The arguments that the call must have, each an expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<(Str, Value)>,
    /// An expression for a list: one result per value, which `args` can use as `each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Value>,
}
