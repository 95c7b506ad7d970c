//! How long a wait lasts, from what a document or an expression says.

use super::Work;
use crate::failure::{Failure, FailureKind};
use crate::text::milliseconds;
use crate::workflow::Time;
use std::sync::OnceLock;
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// The longest a step may let pass, in milliseconds: a year.
const WAIT_MS_MAX: i64 = 366 * 24 * 60 * 60 * 1_000;

pub(super) fn wait(id: &str, time: &Time, value: &Value, now_ms: i64) -> Work {
    let until = match time {
        Time::For(_) => duration_ms(value).map(|ms| now_ms.saturating_add(ms)),
        Time::Until(_) => instant_ms(value),
    };
    match until {
        Some(until) if until.saturating_sub(now_ms) <= WAIT_MS_MAX => Work::Wait(until),
        Some(_) => Work::Failed(Failure::new(
            FailureKind::Limit,
            format!("`{id}` would wait for more than a year"),
        )),
        None => Work::Failed(Failure::new(
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
        Value::String(text) => milliseconds(text).and_then(|ms| i64::try_from(ms).ok()),
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

/// The milliseconds of a timestamp, read as expressions read it.
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
