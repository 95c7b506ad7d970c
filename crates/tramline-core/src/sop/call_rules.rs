//! Rules over a tool's arguments and earlier calls, and the look-ups that they refer to.

use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// A condition that must hold before a tool is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRule {
    /// The tools that it is about, with or without their servers.
    pub tools: Vec<Str>,
    /// What must hold.
    pub demand: Demand,
    /// What the agent is told when it does not hold, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Str>,
    /// What happens when it does not hold.
    #[serde(default)]
    pub otherwise: Otherwise,
}

/// What a rule demands of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// This condition holds: JSONata as text, or JSON Logic.
    Args(Value),
    /// This expression has a value that no earlier call in the conversation had.
    OncePer {
        /// JSONata as text, or JSON Logic.
        value: Value,
        /// Other tools whose calls count as well.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<Str>,
    },
    /// The tool was called fewer times than this in the conversation.
    MaxCalls(u32),
}

impl Demand {
    /// The field in which users write it.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Args(_) => "args",
            Self::OncePer { .. } => "once_per",
            Self::MaxCalls(_) => "max_calls",
        }
    }
}

/// What happens to a call for which a rule does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Otherwise {
    /// It is refused.
    #[default]
    Refuse,
    /// A person decides.
    Ask,
}

impl Otherwise {
    /// Both, for messages.
    pub const ALL: [Self; 2] = [Self::Refuse, Self::Ask];

    /// The value as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Ask => "ask",
        }
    }
}

/// A named result of an earlier call, found by the arguments of that call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lookup {
    /// Its name: rules read it as `lookups.NAME`.
    pub name: Str,
    /// The tools whose results it takes; the latest call wins. The first is the one to call when
    /// the result is missing.
    pub tools: Vec<Str>,
    /// The arguments that the call must have had, each an expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<(Str, Value)>,
    /// An expression for a list: one result per value, which `args` reads as `each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Value>,
}
