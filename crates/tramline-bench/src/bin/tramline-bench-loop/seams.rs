//! What stands where a model and servers would: answers at once, and does nothing.

use async_trait::async_trait;
use std::sync::Arc;
use tramline::core::Value;
use tramline::core::failure::Failure;
use tramline::core::ids::ToolName;
use tramline::engine::seams::{
    Answer, Call, Exchange, Hints, Listed, Listing, Model, Prompt, Source, Tool, Tools,
};

/// So many tools there are.
pub(crate) const TOOLS: usize = 200;
/// So many steps each plan has.
pub(crate) const STEPS: usize = 2;

const SERVER: &str = "bench";

/// A model whose plan is always the same.
pub(crate) struct AtOnce;

#[async_trait]
impl Model for AtOnce {
    async fn complete(&self, _: Prompt) -> Result<Answer, Failure> {
        let plan = r#"{"plan": [{"id": "a", "tool": "bench:nothing_0", "args": {"text": "x"}},
            {"id": "b", "tool": "bench:nothing_1", "args": {"text": "$OUTPUT[a].text"}}]}"#;
        Ok(Answer {
            text: plan.to_owned(),
            tokens: 1,
        })
    }
}

/// Tools that give back what they are given.
pub(crate) struct Nothing(Arc<Vec<Arc<Tool>>>);

impl Nothing {
    pub(crate) fn new() -> Self {
        let schema = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;
        let tool = |number: usize| {
            Arc::new(Tool {
                name: ToolName::new(SERVER, format!("nothing_{number}")),
                title: None,
                description: Some(format!("Does nothing with number {number}").into()),
                input_schema: Value::from_json(schema).unwrap_or_default(),
                output_schema: None,
                hints: Hints {
                    read_only: Some(true),
                    ..Hints::default()
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
impl Tools for Nothing {
    fn known(&self, tool: &ToolName) -> Option<Arc<Tool>> {
        self.named(tool)
    }

    async fn find(&self, tool: &ToolName) -> Result<Arc<Tool>, Failure> {
        let missing = || {
            use tramline::core::failure::FailureKind;
            Failure::new(FailureKind::Unavailable, format!("there is no {tool}"))
        };
        self.named(tool).ok_or_else(missing)
    }

    async fn list(&self) -> Vec<Listing> {
        vec![Listing {
            server: SERVER.into(),
            tools: Ok(self.0.to_vec()),
        }]
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source {
            server: SERVER.into(),
            print: None,
            tools: Some(Arc::clone(&self.0)),
        }]
    }

    async fn ask(&self, server: &str) -> Option<Listed> {
        (server == SERVER).then(|| Ok(Arc::clone(&self.0)))
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        Ok(call.arguments)
    }
}
