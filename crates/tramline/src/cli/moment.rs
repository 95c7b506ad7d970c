//! Moments of a run as the command line names them: a step's number, or `event:` and a place.

use tramline_core::ids::{Checkpoint, RunId};
use tramline_engine::At;

/// Reads what `--at` takes where a checkpoint will do too. It must be one of that run.
pub(super) fn point(text: &str) -> Result<(At, Option<RunId>), String> {
    match text.parse::<Checkpoint>() {
        Ok(point) => Ok((At::Event(point.seq), Some(point.run))),
        Err(_) => at(text).map(|at| (at, None)),
    }
}

/// Reads what `--at` takes.
pub(super) fn at(text: &str) -> Result<At, String> {
    let read = match text.strip_prefix("event:") {
        Some(place) => place.parse().ok().map(At::Event),
        None => text.parse().ok().map(At::Step),
    };
    read.ok_or_else(|| {
        "a step's number as `tramline runs show RUN` lists them, or event: and the place of an event"
            .to_owned()
    })
}

/// A moment in words.
pub(super) fn says(at: At) -> String {
    match at {
        At::Event(seq) => format!("after event {seq}"),
        At::Step(step) => format!("after step {step}"),
    }
}
