//! The contract of every `Model`. A violation panics.

use crate::ports::{Message, Model, Prompt, Role};
use std::sync::Arc;
use tramline_expr::Value;

/// Checks with two prompts that the model answers and follows a schema.
pub async fn model_contract(model: Arc<dyn Model>) {
    let answer = model.complete(ask("Say hello.", None)).await;
    let answer = answer.unwrap_or_else(|failure| panic!("a plain prompt: {failure}"));
    assert!(!answer.text.is_empty(), "an answer has text");
    assert!(answer.tokens > 0, "an answer costs tokens");

    let text = Value::object([("type", "string".into())]);
    let schema = Value::object([
        ("type", "object".into()),
        ("properties", Value::object([("answer", text)])),
        ("required", Value::array(["answer".into()])),
    ]);
    let answer = model
        .complete(ask("Which colour is the sky?", Some(schema)))
        .await;
    let answer = answer.unwrap_or_else(|failure| panic!("a prompt with a schema: {failure}"));
    let json = Value::from_json(&answer.text);
    let json = json.unwrap_or_else(|fault| panic!("{fault} in {}", answer.text));
    let given = json.get("answer").and_then(Value::as_str);
    assert!(
        given.is_some(),
        "the answer does not match its schema: {json}"
    );
}

fn ask(text: &str, schema: Option<Value>) -> Prompt {
    let message = Message {
        role: Role::User,
        text: text.to_owned(),
    };
    Prompt {
        messages: vec![message],
        schema,
        tokens_max: 200,
        ..Prompt::default()
    }
}
