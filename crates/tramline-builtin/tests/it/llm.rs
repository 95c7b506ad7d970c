//! Prompts: what reaches the model, what comes back, and the failure without a model.

use crate::{builtin, call};
use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use tramline_engine::ports::{Model, ModelAnswer, Prompt, Role};
use tramline_workflow::failure::{Failure, FailureKind};

/// Returns a fixed answer, and records the prompts.
struct RecordingModel {
    says: &'static str,
    heard: Mutex<Option<Prompt>>,
}

#[async_trait]
impl Model for RecordingModel {
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure> {
        *self.heard.lock().unwrap() = Some(prompt);
        Ok(ModelAnswer {
            text: self.says.to_owned(),
            tokens: 7,
        })
    }
}

fn parrot(says: &'static str) -> Arc<RecordingModel> {
    Arc::new(RecordingModel {
        says,
        heard: Mutex::new(None),
    })
}

#[tokio::test]
async fn without_a_model_the_setting_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    let failure = call(&tools, "llm", r#"{"prompt":"hello"}"#)
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("set `model`"), "{failure}");
    let failure = call(&tools, "llm", r#"{}"#).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadArguments);
}

#[tokio::test]
async fn prompts_reach_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let model = parrot("good day");
    let tools = builtin(dir.path(), &[]).with_model(Arc::clone(&model) as _);
    let arguments =
        r#"{"prompt":"greet","system":"be kind","model":"m","max_tokens":50,"temperature":0.5}"#;
    let done = call(&tools, "llm", arguments).await.unwrap();
    assert_eq!(
        done.to_json(),
        r#"{"response":"good day","usage":{"tokens":7}}"#
    );
    let heard = model.heard.lock().unwrap().take().unwrap();
    let said: Vec<_> = heard
        .messages
        .iter()
        .map(|message| (message.role, message.text.as_str()))
        .collect();
    assert_eq!(said, [(Role::System, "be kind"), (Role::User, "greet")]);
    assert_eq!((heard.tokens_max, heard.model.as_deref()), (50, Some("m")));
    assert_eq!(heard.temperature, Some(0.5));
}

#[tokio::test]
async fn an_answer_must_fit_its_schema() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = r#"{"prompt":"p","output_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
    let tools = builtin(dir.path(), &[]).with_model(parrot("{\"n\": 4}"));
    let done = call(&tools, "llm", arguments).await.unwrap();
    assert_eq!(done.get("response").unwrap().to_json(), r#"{"n":4}"#);
    for says in ["four", "{\"n\": \"four\"}"] {
        let tools = builtin(dir.path(), &[]).with_model(parrot(says));
        let failure = call(&tools, "llm", arguments).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadAnswer, "{failure}");
        assert_eq!(failure.data.unwrap().get("response"), Some(&says.into()));
    }
}

#[tokio::test]
async fn a_summary_is_worded_by_the_model_and_plain_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = r#"{"message":"count","results":[{"id":"a","tool":"s:count","output":{"n":3}},
        {"id":"b","tool":"s:mail","error":"no such address"},{"id":"c","tool":"s:look","output":null}]}"#;
    let tools = builtin(dir.path(), &[]);
    let done = call(&tools, "finalize_summary", arguments).await.unwrap();
    assert_eq!(
        done.get("summary").and_then(|text| text.as_str()),
        Some("s:count: {\"n\":3}\ns:mail failed: no such address\ns:look: no output")
    );
    let nothing = call(&tools, "finalize_summary", "{}").await.unwrap();
    assert_eq!(
        nothing.to_json(),
        r#"{"summary":"No steps were run.","usage":{"tokens":0}}"#
    );
    let model = parrot("Three were counted. ");
    let tools = builtin(dir.path(), &[]).with_model(Arc::clone(&model) as _);
    let done = call(&tools, "finalize_summary", arguments).await.unwrap();
    assert_eq!(
        done.to_json(),
        r#"{"summary":"Three were counted.","usage":{"tokens":7}}"#
    );
    let heard = model.heard.lock().unwrap().take().unwrap();
    assert!(heard.messages[1].text.contains("no such address"));
}
