//! The call that a run asks about: recorded when it asks, so that what is approved is what is called.

use crate::ids::ToolName;
use serde::{Deserialize, Serialize};
use tramline_expr::Value;

/// A call that waits for an answer, as it will be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposedCall {
    /// Which tool.
    pub tool: ToolName,
    /// Its arguments as the journal holds them: settings by name. Null for a batch.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// The calls of a step that is made once for each of several items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<ProposedBatch>,
    /// What the server said of the tool's effects when the run asked, if it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
}

impl ProposedCall {
    /// One call.
    pub fn new(tool: ToolName, arguments: Value) -> Self {
        Self {
            tool,
            arguments,
            batch: None,
            annotations: None,
        }
    }
}

/// The calls of a step that is made once for each of several items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposedBatch {
    /// The items, an array.
    pub items: Value,
    /// The arguments of the first calls. Those of the others are computed from their items.
    pub arguments: Vec<Value>,
}

impl ProposedBatch {
    /// How many calls there will be.
    pub fn count(&self) -> usize {
        self.items.as_array().map_or(0, <[Value]>::len)
    }
}

/// What a server says of a tool's effects, in the words of the Model Context Protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It reaches into the world outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}
