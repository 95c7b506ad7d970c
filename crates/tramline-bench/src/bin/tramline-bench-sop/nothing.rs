//! Tools of which there are none: a move calls nothing.

use async_trait::async_trait;
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_engine::seams::{Call, Exchange, Listing, Tool, Tools};

/// No tools.
pub(crate) struct Nothing;

fn none(name: &ToolName) -> Failure {
    Failure::new(FailureKind::UnknownTool, format!("there is no {name}"))
}

#[async_trait]
impl Tools for Nothing {
    fn known(&self, _: &ToolName) -> Option<Arc<Tool>> {
        None
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        Err(none(name))
    }

    async fn list(&self) -> Vec<Listing> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        Err(none(&call.tool))
    }
}
