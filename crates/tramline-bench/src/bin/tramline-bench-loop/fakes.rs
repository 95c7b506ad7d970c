//! Fakes for a model and servers: they answer at once and do nothing.

use async_trait::async_trait;
use std::sync::Arc;
use tramline::engine::ports::{
    Exchange, ListedTools, Model, ModelAnswer, Prompt, ServerSource, ServerTools, Tool,
    ToolCallRequest, ToolHints, Tools,
};
use tramline::expr::Value;
use tramline::workflow::failure::Failure;
use tramline::workflow::ids::ToolName;

/// Number of tools.
pub(crate) const TOOLS: usize = 200;
/// Steps of each plan.
pub(crate) const STEPS: usize = 2;

const SERVER: &str = "bench";

/// A model that always returns the same plan.
pub(crate) struct InstantModel;

#[async_trait]
impl Model for InstantModel {
    async fn complete(&self, _: Prompt) -> Result<ModelAnswer, Failure> {
        let plan = r#"{"plan": [{"id": "a", "tool": "bench:nothing_0", "args": {"text": "x"}},
            {"id": "b", "tool": "bench:nothing_1", "args": {"text": "$OUTPUT[a].text"}}]}"#;
        Ok(ModelAnswer {
            text: plan.to_owned(),
            tokens: 1,
        })
    }
}

/// Tools that return their arguments.
pub(crate) struct EchoTools(Arc<Vec<Arc<Tool>>>);

impl EchoTools {
    pub(crate) fn new() -> Self {
        let schema = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;
        let tool = |number: usize| {
            Arc::new(Tool {
                name: ToolName::new(SERVER, format!("nothing_{number}")),
                title: None,
                description: Some(format!("Does nothing with number {number}").into()),
                input_schema: Value::from_json(schema).unwrap_or_default(),
                output_schema: None,
                hints: ToolHints {
                    read_only: Some(true),
                    ..ToolHints::default()
                },
            })
        };
        Self(Arc::new((0..TOOLS).map(tool).collect()))
    }

    fn named(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.0.iter().find(|tool| tool.name == *name).cloned()
    }
}

#[async_trait]
impl Tools for EchoTools {
    fn known(&self, tool: &ToolName) -> Option<Arc<Tool>> {
        self.named(tool)
    }

    async fn find(&self, tool: &ToolName) -> Result<Arc<Tool>, Failure> {
        let missing = || {
            use tramline::workflow::failure::FailureKind;
            Failure::new(FailureKind::Unavailable, format!("there is no {tool}"))
        };
        self.named(tool).ok_or_else(missing)
    }

    async fn list(&self) -> Vec<ServerTools> {
        vec![ServerTools {
            server: SERVER.into(),
            tools: Ok(self.0.to_vec()),
        }]
    }

    fn sources(&self) -> Vec<ServerSource> {
        vec![ServerSource {
            server: SERVER.into(),
            fingerprint: None,
            tools: Some(Arc::clone(&self.0)),
        }]
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        (server == SERVER).then(|| Ok(Arc::clone(&self.0)))
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        Ok(call.arguments)
    }
}
