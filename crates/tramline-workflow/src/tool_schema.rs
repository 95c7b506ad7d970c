//! The schemas of tools, as far as they are known when a document is checked.

use crate::builtin_tools;
use crate::ids::{BUILTIN, ToolName};
use std::fmt;
use tramline_expr::{Shape, Value};

/// The schemas of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSchema {
    /// The JSON Schema of its arguments.
    pub input: Value,
    /// The JSON Schema of its result, if it is known.
    pub output: Option<Value>,
    /// Whether a result has no fields that its schema does not name.
    pub is_exact: bool,
}

impl ToolSchema {
    /// What is known about a result.
    pub fn result(&self) -> Shape {
        match &self.output {
            Some(schema) if self.is_exact => Shape::of_exact_schema(schema),
            Some(schema) => Shape::of_schema(schema),
            None => Shape::Any,
        }
    }
}

/// Finds the schemas of tools.
pub trait ToolSchemas: fmt::Debug + Sync {
    /// The schemas of a tool, if they are known. Does not ask servers.
    fn find(&self, tool: &ToolName) -> Option<ToolSchema>;

    /// Whether references and arguments are checked at all.
    fn checks_references(&self) -> bool {
        true
    }
}

/// The schemas of the built-in tools, which are always known.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltinSchemas;

impl ToolSchemas for BuiltinSchemas {
    fn find(&self, tool: &ToolName) -> Option<ToolSchema> {
        match tool.server == BUILTIN {
            true => builtin_tools::schema(&tool.tool).cloned(),
            false => None,
        }
    }
}

/// Nothing but the structure is checked: for the picture of a document that is still being written.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructureOnly;

impl ToolSchemas for StructureOnly {
    fn find(&self, _: &ToolName) -> Option<ToolSchema> {
        None
    }

    fn checks_references(&self) -> bool {
        false
    }
}

/// No schemas: only what the document itself says is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSchemas;

impl ToolSchemas for NoSchemas {
    fn find(&self, _: &ToolName) -> Option<ToolSchema> {
        None
    }
}
