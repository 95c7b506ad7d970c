//! Computes the duration of a wait from a document's or an expression's value.

use super::StepWork;
use crate::failure::{Failure, FailureKind};
use crate::text::parse_duration_ms;
use crate::workflow::WaitTime;
use std::sync::OnceLock;
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// Milliseconds of the longest wait: a year.
const WAIT_MS_MAX: i64 = 366 * 24 * 60 * 60 * 1_000;

pub(super) fn wait(id: &str, time: &WaitTime, value: &Value, now_ms: i64) -> StepWork {
    let until = match time {
        WaitTime::For(_) => duration_ms(value).map(|ms| now_ms.saturating_add(ms)),
        WaitTime::Until(_) => instant_ms(value),
    };
    match until {
        Some(until) if until.saturating_sub(now_ms) <= WAIT_MS_MAX => StepWork::Wait(until),
        Some(_) => StepWork::Failed(Failure::new(
            FailureKind::Limit,
            format!("`{id}` would wait for more than a year"),
        )),
        None => StepWork::Failed(Failure::new(
            FailureKind::Expression,
            format!(
                "`{id}` cannot wait for {value}: write milliseconds, a text like `5s`, \
                 or with `until` a time like `2030-01-31T12:00:00Z`"
            ),
        )),
    }
}

/// Milliseconds, or a text with a unit.
fn duration_ms(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => parse_duration_ms(text).and_then(|ms| i64::try_from(ms).ok()),
        other => other
            .as_f64()
            .filter(|ms| ms.is_finite() && *ms >= 0.0)
            .map(|ms| ms as i64),
    }
}

/// Milliseconds since 1970, or a timestamp.
fn instant_ms(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => timestamp_ms(text),
        other => other.as_i64(),
    }
}

/// Parses a timestamp as JSONata does.
fn timestamp_ms(text: &str) -> Option<i64> {
    static READ: OnceLock<Option<Expression>> = OnceLock::new();
    let read =
        READ.get_or_init(|| Expression::compile("$toMillis($)", &HostFunctions::none()).ok());
    let read = read.as_ref()?;
    let ms = read
        .evaluate(&text.into(), &NoHost, &Limits::default())
        .ok()??;
    ms.as_i64()
}
