//! Data that a failure carries besides its message: whether the call was sent, and when to retry.

use std::time::Duration;
use tramline_expr::{Map, Value};
use tramline_workflow::failure::{Failure, FailureKind};

/// Key in a failure's data: whether the request may have reached the server. If `false`, the tool certainly did
/// not run, and even a non-repeatable call can be made again.
const SENT_KEY: &str = "sent";

/// Marks the failure of a call that was not sent.
pub(super) fn mark_not_sent(failure: Failure) -> Failure {
    mark_if_uncertain(failure, false)
}

/// Marks the failure of a call that was sent and may have been carried out.
pub(super) fn mark_sent(failure: Failure) -> Failure {
    mark_if_uncertain(failure, true)
}

fn mark_if_uncertain(mut failure: Failure, sent: bool) -> Failure {
    match failure.kind {
        FailureKind::Unavailable
        | FailureKind::Timeout
        | FailureKind::Cancelled
        | FailureKind::BadAnswer => {
            failure.may_have_happened = sent;
            with_data_field(failure, SENT_KEY, sent.into())
        }
        // The server reported the failure itself, or was never called.
        FailureKind::Tool
        | FailureKind::UnknownTool
        | FailureKind::BadArguments
        | FailureKind::Expression
        | FailureKind::Forbidden
        | FailureKind::Schema
        | FailureKind::Limit
        | FailureKind::Stalled
        | FailureKind::Rejected
        | FailureKind::NotRecorded => failure,
    }
}

/// The failure of a server in backoff, with the time until the next attempt.
pub(super) fn with_backoff(failure: &Failure, rest: Duration) -> Failure {
    let ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
    let mut failure = with_data_field(failure.clone(), "retry_in_ms", ms.into());
    let seconds = rest.as_secs_f64();
    failure.message = format!("{}; next attempt in {seconds:.1} s", failure.message);
    failure
}

fn with_data_field(failure: Failure, key: &str, value: Value) -> Failure {
    let mut data = match &failure.data {
        Some(Value::Object(data)) => Map::clone(data),
        _ => Map::new(),
    };
    data.insert(key, value);
    failure.with_data(data.into())
}
