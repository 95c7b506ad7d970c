//! The call that a pause asks about. It is recorded with the pause, so that the approved call is
//! the one that is made.

use crate::ids::ToolName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tramline_expr::{Str, Value};

/// A call that waits for an answer, exactly as it will be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposedCall {
    /// The tool.
    pub tool: ToolName,
    /// The arguments, with secrets by name. Null for a batch.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// The calls of a fan-out step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<ProposedBatch>,
    /// The server's annotations of the tool when the run asked, if they were known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The versions of the settings that the call still refers to by name. If one of them changes,
    /// the approval no longer covers the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: SettingVersions,
}

/// Versions of settings, by key.
pub type SettingVersions = BTreeMap<Str, Str>;

impl ProposedCall {
    /// A single call.
    pub fn new(tool: ToolName, arguments: Value) -> Self {
        Self {
            tool,
            arguments,
            batch: None,
            annotations: None,
            settings: SettingVersions::new(),
        }
    }
}

/// The calls of a fan-out step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposedBatch {
    /// The items, an array.
    pub items: Value,
    /// The arguments of the first calls. The others are computed from their items.
    pub arguments: Vec<Value>,
}

impl ProposedBatch {
    /// The number of calls.
    pub fn count(&self) -> usize {
        self.items.as_array().map_or(0, <[Value]>::len)
    }
}

/// A server's annotations of a tool, as defined by the Model Context Protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The tool may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// The tool interacts with the outside world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}
