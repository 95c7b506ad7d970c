//! A model that returns scripted answers in order.

use crate::ports::{Model, ModelAnswer, Prompt};
use async_trait::async_trait;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tramline_workflow::failure::{Failure, FailureKind};

/// Answers from a script, and records its prompts.
#[derive(Default)]
pub struct ScriptedModel {
    script: Mutex<VecDeque<Result<ModelAnswer, Failure>>>,
    prompts: Mutex<Vec<Prompt>>,
}

impl ScriptedModel {
    /// A model that returns these answers one after the other, and then fails.
    pub fn new<T: Into<String>>(answers: impl IntoIterator<Item = T>) -> Self {
        answers.into_iter().fold(Self::default(), Self::then)
    }

    /// Adds an answer.
    #[must_use]
    pub fn then(self, text: impl Into<String>) -> Self {
        let text = text.into();
        let tokens = text.split_whitespace().count().max(1) as u64;
        self.push(Ok(ModelAnswer { text, tokens }))
    }

    /// Adds a failure.
    #[must_use]
    pub fn then_fail(self, failure: Failure) -> Self {
        self.push(Err(failure))
    }

    /// All prompts so far.
    pub fn prompts(&self) -> Vec<Prompt> {
        let prompts = self.prompts.lock();
        prompts.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(self, answer: Result<ModelAnswer, Failure>) -> Self {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.push_back(answer);
        drop(script);
        self
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure> {
        let mut prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
        prompts.push(prompt);
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.pop_front().unwrap_or_else(|| {
            let message = "the script has no answer left";
            Err(Failure::new(FailureKind::Unavailable, message))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::model_contract;
    use std::sync::Arc;

    #[tokio::test]
    async fn keeps_the_contract_and_then_has_nothing_to_say() {
        let model = Arc::new(ScriptedModel::new(["hello", r#"{"answer": "blue"}"#]));
        model_contract(model.clone()).await;
        assert_eq!(model.prompts().len(), 2);
        let silence = model.complete(Prompt::default()).await;
        assert_eq!(
            silence.map_err(|failure| failure.kind),
            Err(FailureKind::Unavailable)
        );
    }
}
