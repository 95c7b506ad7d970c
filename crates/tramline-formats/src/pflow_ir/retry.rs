//! `retry` in the syntax of this format: total attempts, seconds between them.

use crate::yaml_graph::{fields, node_options};
use tramline_expr::Value;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::workflow::RetryPolicy;

/// Most attempts.
const ATTEMPTS_MAX: u64 = 101;
/// Longest wait between two attempts, in seconds (one hour).
const WAIT_S_MAX: f64 = 3_600.0;

/// Reads `retry`. With `wait_ms` or a numeric `backoff` it has the syntax of YAML graphs.
pub(super) fn read(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<RetryPolicy> {
    let ours = |key: &str| at.get(key).is_some_and(|at| at.value.as_f64().is_some());
    if at.value.as_object().is_none() || ours("wait_ms") || ours("backoff") {
        return node_options::retry(at, flaws);
    }
    fields::warn_unknown(at, "`retry`", &["max", "wait", "backoff"], flaws);
    let Some(max) = fields::present(at, "max") else {
        let hint = "set the total number of attempts";
        fields::report_missing(at, "`retry`", "max", hint, flaws);
        return None;
    };
    let attempts = fields::whole_number(max, "max", 1, ATTEMPTS_MAX, flaws);
    let wait_ms = fields::present(at, "wait").map_or(0, |at| wait_ms(at, "wait", flaws));
    let backoff = fields::present(at, "backoff").map_or(1.0, |at| read_backoff(at, flaws));
    Some(RetryPolicy {
        max: (attempts? - 1) as u32,
        wait_ms,
        backoff,
    })
}

/// Converts seconds to milliseconds.
pub(super) fn wait_ms(at: Spanned<'_>, name: &str, flaws: &mut FlawCollector) -> u64 {
    let seconds = at.value.as_f64();
    let fitting = seconds.filter(|seconds| (0.0..=WAIT_S_MAX).contains(seconds));
    if fitting.is_none() {
        flaws.add(
            FlawCode::WrongType,
            at.source_span(),
            format!(
                "`{name}` must be seconds from 0 to {WAIT_S_MAX}, not {}",
                at.value
            ),
            "write it as a plain number",
        );
    }
    (fitting.unwrap_or(0.0) * 1_000.0) as u64
}

fn read_backoff(at: Spanned<'_>, flaws: &mut FlawCollector) -> f64 {
    match at.value {
        Value::String(word) if word == "fixed" => 1.0,
        Value::String(word) if word == "exponential" => 2.0,
        _ => {
            let hint = "`fixed` keeps the wait constant, `exponential` doubles it each time";
            fields::report_wrong_type(at, "backoff", "`fixed` or `exponential`", hint, flaws);
            1.0
        }
    }
}
