//! `executionLimits`: the limits of each run, per document and per tool.

use super::fields;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::workflow::WorkflowLimits;

/// The names of the limits in a file.
pub(super) const LIMIT_FIELDS: [&str; 3] = ["maxNodeExecutions", "maxExecutionTimeMs", "maxCalls"];

/// Largest accepted limit: limits can be high, but not switched off.
const LIMIT_MAX: u64 = 1_000_000_000_000;

/// Calls per step, if only steps are limited: retries count as calls too.
const CALLS_PER_STEP: u64 = 10;

/// The limits at `at`, with `otherwise` as defaults.
pub(crate) fn read(
    at: Spanned<'_>,
    otherwise: WorkflowLimits,
    flaws: &mut FlawCollector,
) -> WorkflowLimits {
    let Some(field) = fields::present(at, "executionLimits") else {
        return otherwise;
    };
    if field.value.as_object().is_none() {
        let hint = "write `maxNodeExecutions` and `maxExecutionTimeMs` below it";
        fields::report_wrong_type(field, "executionLimits", "an object", hint, flaws);
        return otherwise;
    }
    fields::warn_unknown(field, "`executionLimits`", &LIMIT_FIELDS, flaws);
    let mut number = |name: &str| {
        let limit = fields::present(field, name)?;
        fields::whole_number(limit, name, 1, LIMIT_MAX, flaws)
    };
    let [steps, time, calls] = LIMIT_FIELDS.map(&mut number);
    let mut limits = otherwise;
    if let Some(steps) = steps {
        limits.steps_max = steps;
        limits.calls_max = limits.calls_max.max(steps.saturating_mul(CALLS_PER_STEP));
    }
    if let Some(time) = time {
        limits.active_ms_max = time;
    }
    if let Some(calls) = calls {
        limits.calls_max = calls;
    }
    limits
}
