//! `Model`: a language model, for the planner and the `llm` tool.

use async_trait::async_trait;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::Failure;
use tramline_workflow::trace_context::TraceContext;

/// A language model.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// Completes the prompt, as JSON that matches the prompt's schema if it has one.
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure>;
}

impl std::fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Model")
    }
}

/// A prompt to complete.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// The messages so far.
    pub messages: Vec<Message>,
    /// The JSON Schema that the answer must match.
    pub schema: Option<Value>,
    /// The limit of the answer in tokens.
    pub tokens_max: u32,
    /// The model, if the caller names one; otherwise the configured one.
    pub model: Option<Str>,
    /// The sampling temperature, if the caller sets it.
    pub temperature: Option<f64>,
    /// The trace span it belongs to.
    pub upstream: Option<TraceContext>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The instructions.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// Tokens of prompt and answer, as the model counts them.
    pub tokens: u64,
}
