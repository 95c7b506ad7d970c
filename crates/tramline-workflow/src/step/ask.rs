//! Computes the question of an `ask` node.

use super::{StepWork, expression_failure, fill_template};
use crate::failure::{Failure, FailureKind};
use crate::form::{FORM_MESSAGE_BYTES_MAX, FormQuestion, FormSpec};
use crate::graph::CompiledTemplate;
use crate::scope::RunView;
use tramline_expr::{Limits, Str, Value};

pub(super) fn ask(
    view: &RunView<'_>,
    (id, form): (&str, &FormSpec),
    timeout_ms: Option<u64>,
    (message, defaults): (&CompiledTemplate, Option<&CompiledTemplate>),
    limits: &Limits,
) -> StepWork {
    let fill = |template| {
        fill_template(template, view, None, limits).map_err(|(source, error)| {
            expression_failure(id, &source, &error, (&view.run.scope, None))
        })
    };
    let message = match fill(message) {
        Ok(message) => message.unwrap_or_default(),
        Err(failure) => return StepWork::Failed(failure),
    };
    let defaults = match defaults.map(fill).transpose() {
        Ok(defaults) => defaults.flatten().unwrap_or_default(),
        Err(failure) => return StepWork::Failed(failure),
    };
    if !defaults.is_null() && defaults.as_object().is_none() {
        let says = format!(
            "the defaults of `{id}` must be an object with values by field, not {}",
            defaults.kind()
        );
        return StepWork::Failed(Failure::new(FailureKind::Expression, says));
    }
    let message = match message {
        Value::String(text) => text,
        other => Str::from(other.to_json()),
    };
    if message.len() > FORM_MESSAGE_BYTES_MAX {
        let says = format!(
            "the message of `{id}` has {} bytes, more than the limit of {FORM_MESSAGE_BYTES_MAX}",
            message.len()
        );
        return StepWork::Failed(Failure::new(FailureKind::Limit, says));
    }
    let wait = form.timeout_ms.or(timeout_ms);
    let until_ms = wait.map(|ms| view.moment.now_ms.saturating_add_unsigned(ms));
    StepWork::Ask(Box::new(FormQuestion {
        message,
        schema: form.schema.clone(),
        defaults,
        until_ms,
        answered_by: form.answered_by,
    }))
}

/// The failure of a question that nobody answered, if no edge leads on.
pub(super) fn timeout_failure(id: &str) -> Failure {
    Failure::new(
        FailureKind::Timeout,
        format!("nobody answered the form of `{id}` in time"),
    )
}
