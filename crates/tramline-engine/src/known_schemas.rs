//! The schemas of the tools that are known without asking a server, for checks of documents.

use crate::ports::Tools;
use std::fmt;
use tramline_workflow::ids::ToolName;
use tramline_workflow::tool_schema::{BuiltinSchemas, ToolSchema, ToolSchemas};

/// The schemas of the built-in tools, and of those that servers have listed.
pub struct KnownSchemas<'t>(pub &'t dyn Tools);

impl ToolSchemas for KnownSchemas<'_> {
    fn find(&self, tool: &ToolName) -> Option<ToolSchema> {
        BuiltinSchemas.find(tool).or_else(|| {
            let known = self.0.known(tool)?;
            Some(ToolSchema {
                input: known.input_schema.clone(),
                output: known.output_schema.clone(),
                is_exact: false,
            })
        })
    }
}

impl fmt::Debug for KnownSchemas<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSchemas").finish_non_exhaustive()
    }
}
