//! `llm`: a prompt for the model that the engine has, if it has one.

use crate::arguments::{Arguments, bad};
use crate::described;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::schema::Checker;
use tramline_engine::long_work;
use tramline_engine::seams::{Answer, Call, Hints, Message, Model, Prompt, Role, Tool};

/// How long an answer may be where the caller does not say, in tokens.
const TOKENS: u64 = 4_096;
/// Longer answers cannot be asked for, in tokens.
const TOKENS_MAX: u64 = 200_000;

pub(crate) fn tool() -> (&'static str, Tool) {
    described(
        "llm",
        "Asks the configured model. With output_schema the response is JSON that fits it, else text.",
        Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(true),
        },
        r#"{"type":"object","properties":{"prompt":{"type":"string"},"system":{"type":"string"},"output_schema":{"type":"object"},"model":{"type":"string"},"temperature":{"type":"number","minimum":0},"max_tokens":{"type":"integer","minimum":1}},"required":["prompt"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"response":{},"usage":{"type":"object","properties":{"tokens":{"type":"integer"}},"required":["tokens"]}},"required":["response","usage"]}"#,
    )
}

pub(crate) async fn call(model: Option<&Arc<dyn Model>>, call: &Call) -> Result<Value, Failure> {
    let known = [
        "prompt",
        "system",
        "output_schema",
        "model",
        "temperature",
        "max_tokens",
    ];
    let given = Arguments::new("llm", &call.arguments, &known)?;
    let schema = given.any("output_schema");
    let checker = match schema.map(Checker::new) {
        None => None,
        Some(Ok(checker)) => Some(checker),
        Some(Err(flaw)) => return Err(bad(format!("llm: `output_schema` is no schema: {flaw}"))),
    };
    let mut prompt = prompt(&given)?;
    prompt.upstream = call.upstream.clone();
    let Some(model) = model else {
        let message = "no model is configured: set `model` in the configuration file";
        return Err(Failure::new(FailureKind::Unavailable, message));
    };
    let answer = ask(model, prompt, call.timeout).await?;
    let response = match checker {
        None => answer.text.into(),
        Some(checker) => fitting(&answer.text, &checker)?,
    };
    let usage = Value::object([("tokens", answer.tokens.into())]);
    Ok(Value::object([("response", response), ("usage", usage)]))
}

/// Asks a model, and waits no longer than so.
pub(crate) async fn ask(
    model: &Arc<dyn Model>,
    prompt: Prompt,
    timeout: Duration,
) -> Result<Answer, Failure> {
    let answer = tokio::time::timeout(timeout, model.complete(prompt)).await;
    answer.unwrap_or_else(|_| {
        let message = format!("the model gave no answer in {timeout:?}");
        Err(Failure::new(FailureKind::Timeout, message))
    })
}

fn prompt(given: &Arguments<'_>) -> Result<Prompt, Failure> {
    let mut messages = Vec::new();
    let system = given.text_or("system", "")?;
    for (role, text) in [(Role::System, system), (Role::User, given.text("prompt")?)] {
        if role == Role::User || !text.is_empty() {
            let text = text.to_owned();
            messages.push(Message { role, text });
        }
    }
    let tokens_max = match given.any("max_tokens") {
        None => TOKENS,
        Some(most) => {
            let most = most.as_u64().filter(|most| (1..=TOKENS_MAX).contains(most));
            let wanted = format!("a whole number from 1 to {TOKENS_MAX}");
            most.ok_or_else(|| given.wrong("max_tokens", &wanted))?
        }
    };
    let temperature = match given.any("temperature") {
        None => None,
        Some(value) => {
            let number = value.as_f64().filter(|number| (0.0..=2.0).contains(number));
            Some(number.ok_or_else(|| given.wrong("temperature", "a number from 0 to 2"))?)
        }
    };
    let name = given.text_or("model", "")?;
    Ok(Prompt {
        messages,
        schema: given.any("output_schema").cloned(),
        tokens_max: tokens_max as u32,
        model: (!name.is_empty()).then(|| name.into()),
        temperature,
        upstream: None,
    })
}

/// The answer as the JSON that was asked for.
fn fitting(text: &str, checker: &Checker) -> Result<Value, Failure> {
    let wrong = |why: String| {
        let data = Value::object([("response", text.into())]);
        Failure::new(FailureKind::BadAnswer, format!("the model's answer {why}")).with_data(data)
    };
    let value =
        Value::from_json(text.trim()).map_err(|error| wrong(format!("is no JSON: {error}")))?;
    let checked = checker.check_by(&value, long_work);
    match checked {
        Ok(()) => Ok(value),
        Err(faults) => {
            let (pointer, first) = faults.into_iter().next().unwrap_or_default();
            Err(wrong(format!("does not fit its schema: {pointer} {first}")))
        }
    }
}
