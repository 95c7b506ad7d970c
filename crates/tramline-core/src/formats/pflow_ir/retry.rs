//! `retry` as files of this format write it: attempts in all, seconds between them.

use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::yaml_graph::{care, fields};
use crate::workflow::Retry;
use tramline_expr::Value;

/// The most attempts.
const ATTEMPTS_MAX: u64 = 101;
/// The longest wait between two attempts, in seconds: an hour.
const WAIT_S_MAX: f64 = 3_600.0;

/// Reads `retry`. With `wait_ms` or a number as `backoff` it is meant as in a YAML graph.
pub(super) fn read(at: At<'_>, flaws: &mut Flaws) -> Option<Retry> {
    let ours = |key: &str| at.get(key).is_some_and(|at| at.value.as_f64().is_some());
    if at.value.as_object().is_none() || ours("wait_ms") || ours("backoff") {
        return care::retry(at, flaws);
    }
    fields::unknown(at, "`retry`", &["max", "wait", "backoff"], flaws);
    let Some(max) = fields::given(at, "max") else {
        let hint = "say how many attempts there are in all";
        fields::missing(at, "`retry`", "max", hint, flaws);
        return None;
    };
    let attempts = fields::whole(max, "max", 1, ATTEMPTS_MAX, flaws);
    let wait_ms = fields::given(at, "wait").map_or(0, |at| wait_ms(at, "wait", flaws));
    let backoff = fields::given(at, "backoff").map_or(1.0, |at| backoff(at, flaws));
    Some(Retry {
        max: (attempts? - 1) as u32,
        wait_ms,
        backoff,
    })
}

/// Seconds as milliseconds.
pub(super) fn wait_ms(at: At<'_>, name: &str, flaws: &mut Flaws) -> u64 {
    let seconds = at.value.as_f64();
    let fitting = seconds.filter(|seconds| (0.0..=WAIT_S_MAX).contains(seconds));
    if fitting.is_none() {
        flaws.add(
            Code::WrongType,
            at.place(),
            format!(
                "`{name}` must be seconds from 0 to {WAIT_S_MAX}, not {}",
                at.value
            ),
            "write it as a plain number",
        );
    }
    (fitting.unwrap_or(0.0) * 1_000.0) as u64
}

fn backoff(at: At<'_>, flaws: &mut Flaws) -> f64 {
    match at.value {
        Value::String(word) if word == "fixed" => 1.0,
        Value::String(word) if word == "exponential" => 2.0,
        _ => {
            let hint = "`fixed` keeps the wait as it is, `exponential` doubles it each time";
            fields::wrong(at, "backoff", "`fixed` or `exponential`", hint, flaws);
            1.0
        }
    }
}
