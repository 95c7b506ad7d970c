//! `Model`: completes a conversation, for the planner and for the `llm` tool.

use async_trait::async_trait;
use tramline_core::failure::Failure;
use tramline_core::upstream::Upstream;
use tramline_core::{Str, Value};

/// Completes a conversation.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// Answers the prompt, as JSON that fits the prompt's schema where it has one.
    async fn complete(&self, prompt: Prompt) -> Result<Answer, Failure>;
}

impl std::fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Model")
    }
}

/// A conversation to be completed.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// What was said so far.
    pub messages: Vec<Message>,
    /// The JSON Schema that the answer must fit.
    pub schema: Option<Value>,
    /// The answer's bound in tokens.
    pub tokens_max: u32,
    /// Which model, where the caller names one; otherwise the one that is configured.
    pub model: Option<Str>,
    /// How freely it answers, where the caller says so.
    pub temperature: Option<f64>,
    /// The span that it belongs to.
    pub upstream: Option<Upstream>,
}

/// One thing said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: String,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one who set the rules.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it said.
    pub text: String,
    /// Tokens read and written, as the model counts them.
    pub tokens: u64,
}
