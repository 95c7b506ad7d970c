//! No tools at all: a move makes no calls.

use async_trait::async_trait;
use std::sync::Arc;
use tramline_engine::ports::{Exchange, ServerTools, Tool, ToolCallRequest, Tools};
use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// No tools.
pub(crate) struct NoTools;

fn none(name: &ToolName) -> Failure {
    Failure::new(FailureKind::UnknownTool, format!("unknown tool {name}"))
}

#[async_trait]
impl Tools for NoTools {
    fn known(&self, _: &ToolName) -> Option<Arc<Tool>> {
        None
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        Err(none(name))
    }

    async fn list(&self) -> Vec<ServerTools> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        Err(none(&call.tool))
    }
}
