//! `llm`: a prompt for the engine's model, if it has one.

use crate::arguments::{Arguments, bad_arguments};
use crate::describe;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::long_work;
use tramline_engine::ports::{
    Message, Model, ModelAnswer, Prompt, Role, Tool, ToolCallRequest, ToolHints,
};
use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::schema::Checker;
use tramline_workflow::text::RedactText;

/// The default length of a response, in tokens.
const TOKENS_DEFAULT: u64 = 4_096;
/// The maximum length of a response that can be requested, in tokens.
const TOKENS_MAX: u64 = 200_000;

pub(crate) fn tool() -> (&'static str, Tool) {
    describe(
        "llm",
        "Asks the configured model. With output_schema the response is JSON that matches it, else text.",
        ToolHints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(true),
        },
    )
}

pub(crate) async fn call(
    model: Option<&Arc<dyn Model>>,
    redact: &RedactText,
    call: &ToolCallRequest,
) -> Result<Value, Failure> {
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
        Some(Err(flaw)) => {
            let what = "llm: `output_schema` is not a valid schema";
            return Err(bad_arguments(match has_secret(schema, redact) {
                true => what.to_owned(),
                false => format!("{what}: {flaw}"),
            }));
        }
    };
    let mut prompt = prompt(&given)?;
    prompt.upstream = call.upstream.clone();
    let Some(model) = model else {
        let message = "no model is configured: set `model` in the configuration file";
        return Err(Failure::new(FailureKind::Unavailable, message));
    };
    let answer = complete(model, prompt, call.timeout).await?;
    let response = match checker {
        None => answer.text.into(),
        Some(checker) => {
            let answer = Value::from(answer.text.as_str());
            let shows = !has_secret(schema, redact) && !has_secret(Some(&answer), redact);
            parse_by_schema(answer.as_str().unwrap_or_default(), &checker, shows)?
        }
    };
    let usage = Value::object([("tokens", answer.tokens.into())]);
    Ok(Value::object([("response", response), ("usage", usage)]))
}

/// Sends a prompt to a model, with a timeout.
pub(crate) async fn complete(
    model: &Arc<dyn Model>,
    prompt: Prompt,
    timeout: Duration,
) -> Result<ModelAnswer, Failure> {
    let answer = tokio::time::timeout(timeout, model.complete(prompt)).await;
    answer.unwrap_or_else(|_| {
        let message = format!("the model did not respond within {timeout:?}");
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
        None => TOKENS_DEFAULT,
        Some(most) => {
            let most = most.as_u64().filter(|most| (1..=TOKENS_MAX).contains(most));
            let wanted = format!("a whole number from 1 to {TOKENS_MAX}");
            most.ok_or_else(|| given.wrong_type("max_tokens", &wanted))?
        }
    };
    let temperature = match given.any("temperature") {
        None => None,
        Some(value) => {
            let number = value.as_f64().filter(|number| (0.0..=2.0).contains(number));
            Some(number.ok_or_else(|| given.wrong_type("temperature", "a number from 0 to 2"))?)
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

/// Whether a value contains a secret. The messages of a check quote values and cut them, so they are not shown then.
fn has_secret(value: Option<&Value>, redact: &RedactText) -> bool {
    let text = value.map_or_else(String::new, Value::to_json);
    redact.redact(&text) != text
}

/// The response as the requested JSON; `shows` says whether a failure may quote it.
fn parse_by_schema(text: &str, checker: &Checker, shows: bool) -> Result<Value, Failure> {
    let wrong = |why: String| {
        let data = Value::object([("response", text.into())]);
        Failure::new(FailureKind::BadAnswer, format!("the model's answer {why}")).with_data(data)
    };
    let value = Value::from_json(text.trim())
        .map_err(|error| wrong(format!("is not valid JSON: {error}")))?;
    let checked = checker.check_with(&value, long_work);
    match checked {
        Ok(()) => Ok(value),
        Err(_) if !shows => Err(wrong("does not match its schema".to_owned())),
        Err(faults) => {
            let (pointer, first) = faults.into_iter().next().unwrap_or_default();
            Err(wrong(format!(
                "does not match its schema: {pointer} {first}"
            )))
        }
    }
}
