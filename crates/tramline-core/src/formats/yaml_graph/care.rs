//! How carefully a node is carried out: time-out, retry, approval, repetition, join.

use super::fields;
use super::nodes::Kind;
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::text::milliseconds;
use crate::workflow::{Join, Node, Retry};
use tramline_expr::{Str, Value};

/// The longest time one attempt may be given, in milliseconds: a day.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// The most repetitions of a failed attempt: past that, a loop says better what is meant.
const RETRIES_MAX: u64 = 100;
/// The longest wait that may be asked for between attempts, in milliseconds: an hour.
const WAIT_MS_MAX: u64 = 60 * 60 * 1_000;
/// The wait before the first repetition where none is given, in milliseconds.
const WAIT_MS: u64 = 1_000;
/// By what the wait grows where nothing is given.
const BACKOFF: f64 = 2.0;
/// A wait that grows faster than this leaves no second repetition worth having.
const BACKOFF_MAX: f64 = 100.0;

/// Why a person must agree where the document does not say.
const ASKS: &str = "the workflow asks for approval here";

/// The names of the field that says where a failure leads.
pub(super) const ON_ERROR: [&str; 2] = ["on-error", "onError"];

/// The fields read here, and `on-error`, that nodes of a type may have.
pub(super) fn fields(kind: Kind) -> &'static [&'static str] {
    if kind.acts() {
        &["timeout", "retry", "approval", "on-error", "onError"]
    } else {
        &[]
    }
}

/// Reads what a node says about its own execution.
pub(in crate::formats) fn read(at: At<'_>, kind: Option<Kind>, node: &mut Node, flaws: &mut Flaws) {
    read_as(at, kind, retry, node, flaws);
}

/// The same, where `retry` is written in another way.
pub(in crate::formats) fn read_as(
    at: At<'_>,
    kind: Option<Kind>,
    retry: fn(At<'_>, &mut Flaws) -> Option<Retry>,
    node: &mut Node,
    flaws: &mut Flaws,
) {
    let purpose = ["purpose", "description"].into_iter();
    let purpose = purpose.filter_map(|key| at.get(key)?.value.as_str());
    node.purpose = purpose
        .map(str::trim)
        .find(|text| !text.is_empty())
        .map(Str::from);
    if let Some((word, place)) = fields::text(at, "join", flaws) {
        match word.as_str() {
            "all" => node.join = Join::All,
            "any" => node.join = Join::Any,
            _ => flaws.add(
                Code::WrongType,
                place.place(),
                format!(
                    "`join` must be `all` or `any`, not `{}`",
                    crate::text::shown(word)
                ),
                "`all` waits for every way in, `any` is entered by each",
            ),
        }
    }
    if !kind.is_none_or(Kind::acts) {
        return;
    }
    node.timeout_ms = fields::given(at, "timeout").and_then(|at| timeout(at, flaws));
    node.retry = fields::given(at, "retry").and_then(|at| retry(at, flaws));
    node.approval = fields::given(at, "approval").and_then(|at| approval(at, flaws));
    let idempotent = fields::truth(at, "idempotent", flaws);
    let read_only = fields::truth(at, "readOnly", flaws);
    node.repeatable = match (idempotent, read_only) {
        (None, None) => None,
        (one, other) => Some(one == Some(true) || other == Some(true)),
    };
}

/// A time in milliseconds, or as text with a unit.
fn timeout(at: At<'_>, flaws: &mut Flaws) -> Option<u64> {
    let given = match at.value {
        Value::String(text) => milliseconds(text),
        other => other.as_u64(),
    };
    let fitting = given.filter(|ms| (1..=TIMEOUT_MS_MAX).contains(ms));
    if fitting.is_none() {
        flaws.add(
            Code::WrongType,
            at.place(),
            format!("`timeout` must be a time from 1ms to 24h, not {}", at.value),
            "write milliseconds as a number, or a text like `500ms`, `5s`, `2m`",
        );
    }
    fitting
}

/// How often a failed attempt is repeated: a number, or `max`, `wait_ms` and `backoff`.
pub(in crate::formats) fn retry(at: At<'_>, flaws: &mut Flaws) -> Option<Retry> {
    let mut retry = Retry {
        max: 0,
        wait_ms: WAIT_MS,
        backoff: BACKOFF,
    };
    let count = match at.value {
        Value::Number(_) => at,
        Value::Object(_) => {
            fields::unknown(at, "`retry`", &["max", "wait_ms", "backoff"], flaws);
            let Some(max) = fields::given(at, "max") else {
                let hint = "say how often a failed attempt is repeated";
                fields::missing(at, "`retry`", "max", hint, flaws);
                return None;
            };
            let wait = fields::given(at, "wait_ms");
            let wait = wait.and_then(|at| fields::whole(at, "wait_ms", 0, WAIT_MS_MAX, flaws));
            retry.wait_ms = wait.unwrap_or(WAIT_MS);
            let backoff = fields::given(at, "backoff").and_then(|at| factor(at, flaws));
            retry.backoff = backoff.unwrap_or(BACKOFF);
            max
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {
            let hint = "write `retry: 3`, or `retry: {max: 3, wait_ms: 500, backoff: 2}`";
            fields::wrong(at, "retry", "a number or an object", hint, flaws);
            return None;
        }
    };
    retry.max = fields::whole(count, "max", 0, RETRIES_MAX, flaws)? as u32;
    Some(retry)
}

fn factor(at: At<'_>, flaws: &mut Flaws) -> Option<f64> {
    let factor = at
        .value
        .as_f64()
        .filter(|factor| (1.0..=BACKOFF_MAX).contains(factor));
    if factor.is_none() {
        flaws.add(
            Code::WrongType,
            at.place(),
            format!(
                "`backoff` must be a number from 1 to {BACKOFF_MAX}, not {}",
                at.value
            ),
            "1 keeps the wait as it is, 2 doubles it each time",
        );
    }
    factor
}

/// Why a person must agree.
fn approval(at: At<'_>, flaws: &mut Flaws) -> Option<Str> {
    match at.value {
        Value::Bool(true) => Some(ASKS.into()),
        Value::Bool(false) => None,
        Value::String(word) if word == "required" => Some(ASKS.into()),
        Value::String(reason) if !reason.trim().is_empty() => Some(reason.clone()),
        Value::String(_) | Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let hint = "write `approval: true`, or the reason as text";
            fields::wrong(at, "approval", "true, false or a reason", hint, flaws);
            None
        }
    }
}
