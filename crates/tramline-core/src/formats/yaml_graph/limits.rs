//! `executionLimits`: the bounds of each run, for the whole document and for one tool.

use super::fields;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::workflow::Limits;

/// The names of the limits in a file.
pub(super) const NAMES: [&str; 3] = ["maxNodeExecutions", "maxExecutionTimeMs", "maxCalls"];

/// A limit above this is refused: whoever writes it wants none, and there is always one.
const LIMIT_MAX: u64 = 1_000_000_000_000;

/// How many calls each step may make on average where only the steps are limited: retries are
/// calls too.
const CALLS_PER_STEP: u64 = 10;

/// The limits that stand at `at`, over those that hold otherwise.
pub(in crate::formats) fn read(at: At<'_>, otherwise: Limits, flaws: &mut Flaws) -> Limits {
    let Some(field) = fields::given(at, "executionLimits") else {
        return otherwise;
    };
    if field.value.as_object().is_none() {
        let hint = "write `maxNodeExecutions` and `maxExecutionTimeMs` below it";
        fields::wrong(field, "executionLimits", "an object", hint, flaws);
        return otherwise;
    }
    fields::unknown(field, "`executionLimits`", &NAMES, flaws);
    let mut number = |name: &str| {
        let limit = fields::given(field, name)?;
        fields::whole(limit, name, 1, LIMIT_MAX, flaws)
    };
    let [steps, time, calls] = NAMES.map(&mut number);
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
