//! Execution options of a node: timeout, retry, approval, idempotency, join.

use super::fields;
use super::nodes::NodeType;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::parse_duration_ms;
use tramline_workflow::workflow::{Join, Node, RetryPolicy};

/// Longest timeout of one attempt, in milliseconds (one day).
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Most retries of a failed attempt: beyond that, use a loop.
const RETRIES_MAX: u64 = 100;
/// Longest configurable wait between attempts, in milliseconds (one hour).
const WAIT_MS_MAX: u64 = 60 * 60 * 1_000;
/// Default wait before the first retry, in milliseconds.
const WAIT_MS_DEFAULT: u64 = 1_000;
/// Default factor by which the wait grows.
const BACKOFF_DEFAULT: f64 = 2.0;
/// Largest backoff factor: with a larger one, a second retry is pointless.
const BACKOFF_MAX: f64 = 100.0;

/// Default reason for an approval.
const APPROVAL_REASON_DEFAULT: &str = "the workflow asks for approval here";

/// The names of the field that routes a failure.
pub(super) const ON_ERROR: [&str; 2] = ["on-error", "onError"];

/// The option fields that nodes of a type may have, including `on-error`.
pub(super) fn option_fields(kind: NodeType) -> &'static [&'static str] {
    match (kind.has_attempts(), kind.can_fail()) {
        (true, _) => &["timeout", "retry", "approval", "on-error", "onError"],
        (false, true) => &["on-error", "onError"],
        (false, false) => &[],
    }
}

/// Reads the execution options of a node.
pub(crate) fn read(
    at: Spanned<'_>,
    kind: Option<NodeType>,
    node: &mut Node,
    flaws: &mut FlawCollector,
) {
    read_with_retry(at, kind, retry, node, flaws);
}

/// The same, with another syntax for `retry`.
pub(crate) fn read_with_retry(
    at: Spanned<'_>,
    kind: Option<NodeType>,
    retry: fn(Spanned<'_>, &mut FlawCollector) -> Option<RetryPolicy>,
    node: &mut Node,
    flaws: &mut FlawCollector,
) {
    let purpose = ["purpose", "description"].into_iter();
    let purpose = purpose.filter_map(|key| at.get(key)?.value.as_str());
    node.purpose = purpose
        .map(str::trim)
        .find(|text| !text.is_empty())
        .map(Str::from);
    if let Some((word, place)) = fields::optional_string(at, "join", flaws) {
        match word.as_str() {
            "all" => node.join = Join::All,
            "any" => node.join = Join::Any,
            _ => flaws.add(
                FlawCode::WrongType,
                place.source_span(),
                format!(
                    "`join` must be `all` or `any`, not `{}`",
                    tramline_workflow::text::display_name(word)
                ),
                "`all` waits for every incoming edge, `any` runs for each one",
            ),
        }
    }
    if !kind.is_none_or(NodeType::has_attempts) {
        return;
    }
    node.timeout_ms = fields::present(at, "timeout").and_then(|at| timeout(at, flaws));
    node.retry = fields::present(at, "retry").and_then(|at| retry(at, flaws));
    node.approval = fields::present(at, "approval").and_then(|at| approval(at, flaws));
    let idempotent = fields::boolean(at, "idempotent", flaws);
    let read_only = fields::boolean(at, "readOnly", flaws);
    node.repeatable = match (idempotent, read_only) {
        (None, None) => None,
        (one, other) => Some(one == Some(true) || other == Some(true)),
    };
}

/// A duration in milliseconds, or a string with a unit.
fn timeout(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<u64> {
    let given = match at.value {
        Value::String(text) => parse_duration_ms(text),
        other => other.as_u64(),
    };
    let fitting = given.filter(|ms| (1..=TIMEOUT_MS_MAX).contains(ms));
    if fitting.is_none() {
        flaws.add(
            FlawCode::WrongType,
            at.source_span(),
            format!("`timeout` must be a time from 1ms to 24h, not {}", at.value),
            spelled_out_time(at.value).unwrap_or_else(|| {
                "write milliseconds as a number, or a string like `500ms`, `5s`, `2m`".to_owned()
            }),
        );
    }
    fitting
}

/// How to write a time such as `30 seconds`.
fn spelled_out_time(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().to_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit = match text[end..].trim() {
        "millisecond" | "milliseconds" | "msec" => "ms",
        "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "m",
        "hr" | "hrs" | "hour" | "hours" => "h",
        _ => return None,
    };
    Some(format!("write `\"{}{unit}\"`", &text[..end]))
}

/// Reads the retries of a failed attempt: a number, or `max`, `wait_ms` and `backoff`.
pub(crate) fn retry(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<RetryPolicy> {
    let mut retry = RetryPolicy {
        max: 0,
        wait_ms: WAIT_MS_DEFAULT,
        backoff: BACKOFF_DEFAULT,
    };
    let count = match at.value {
        Value::Number(_) => at,
        Value::Object(_) => {
            fields::warn_unknown(at, "`retry`", &["max", "wait_ms", "backoff"], flaws);
            let Some(max) = fields::present(at, "max") else {
                let hint = "set how often a failed attempt is retried";
                fields::report_missing(at, "`retry`", "max", hint, flaws);
                return None;
            };
            let wait = fields::present(at, "wait_ms");
            let wait =
                wait.and_then(|at| fields::whole_number(at, "wait_ms", 0, WAIT_MS_MAX, flaws));
            retry.wait_ms = wait.unwrap_or(WAIT_MS_DEFAULT);
            let backoff = fields::present(at, "backoff").and_then(|at| backoff_factor(at, flaws));
            retry.backoff = backoff.unwrap_or(BACKOFF_DEFAULT);
            max
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {
            let hint = fields::plain_number(at.value).unwrap_or_else(|| {
                "write a number such as 3, or `max`, `wait_ms` and `backoff`".to_owned()
            });
            fields::report_wrong_type(at, "retry", "a number or an object", &hint, flaws);
            return None;
        }
    };
    retry.max = fields::whole_number(count, "max", 0, RETRIES_MAX, flaws)? as u32;
    Some(retry)
}

fn backoff_factor(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<f64> {
    let factor = at
        .value
        .as_f64()
        .filter(|factor| (1.0..=BACKOFF_MAX).contains(factor));
    if factor.is_none() {
        flaws.add(
            FlawCode::WrongType,
            at.source_span(),
            format!(
                "`backoff` must be a number from 1 to {BACKOFF_MAX}, not {}",
                at.value
            ),
            "1 keeps the wait constant, 2 doubles it each time",
        );
    }
    factor
}

/// The reason for an approval.
fn approval(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<Str> {
    match at.value {
        Value::Bool(true) => Some(APPROVAL_REASON_DEFAULT.into()),
        Value::Bool(false) => None,
        Value::String(word) if word == "required" => Some(APPROVAL_REASON_DEFAULT.into()),
        Value::String(reason) if !reason.trim().is_empty() => Some(reason.clone()),
        Value::String(_) | Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let hint = "write `true`, or the reason as text";
            fields::report_wrong_type(at, "approval", "true, false or a reason", hint, flaws);
            None
        }
    }
}
