//! What a failure says beside its message: whether the call had left, and when to come back.

use std::time::Duration;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::{Map, Value};

/// In a failure's data: whether the request may have reached the server. Where it is `false` the
/// tool did certainly not run, and even a call that must not be repeated can be made again.
const SENT: &str = "sent";

/// Marks a failure of a call that never left.
pub(super) fn unsent(failure: Failure) -> Failure {
    mark(failure, false)
}

/// Marks a failure of a call that left, and of which nobody knows whether it was carried out.
pub(super) fn sent(failure: Failure) -> Failure {
    mark(failure, true)
}

fn mark(mut failure: Failure, sent: bool) -> Failure {
    match failure.kind {
        FailureKind::Unavailable
        | FailureKind::Timeout
        | FailureKind::Cancelled
        | FailureKind::BadAnswer => {
            failure.may_have_happened = sent;
            with(failure, SENT, sent.into())
        }
        // The server spoke for itself, or was never asked.
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

/// The failure of a server that rests, with the time until it is tried again.
pub(super) fn resting(failure: &Failure, rest: Duration) -> Failure {
    let ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
    let mut failure = with(failure.clone(), "retry_in_ms", ms.into());
    let seconds = rest.as_secs_f64();
    failure.message = format!("{}; it is tried again in {seconds:.1} s", failure.message);
    failure
}

fn with(failure: Failure, key: &str, value: Value) -> Failure {
    let mut data = match &failure.data {
        Some(Value::Object(data)) => Map::clone(data),
        _ => Map::new(),
    };
    data.insert(key, value);
    failure.with_data(data.into())
}
