//! Positions in a run on the command line: a step number, or `event:` and a sequence number.

use super::run_names;
use tramline_engine::JournalPoint;
use tramline_workflow::ids::RunId;

/// Parses `--at` where a checkpoint is accepted too. The checkpoint must belong to that run.
pub(super) fn parse_position_or_checkpoint(
    text: &str,
) -> Result<(JournalPoint, Option<RunId>), String> {
    match text.starts_with("chk_") {
        true => {
            let point = run_names::parse_checkpoint(text)?;
            Ok((JournalPoint::Event(point.seq), Some(point.run)))
        }
        false => parse_position(text).map(|at| (at, None)),
    }
}

/// Parses `--at`.
pub(super) fn parse_position(text: &str) -> Result<JournalPoint, String> {
    let read = match text.strip_prefix("event:") {
        Some(place) => place.parse().ok().map(JournalPoint::Event),
        None => text.parse().ok().map(JournalPoint::Step),
    };
    read.ok_or_else(|| {
        "a step number from `tramline runs show RUN`, or event: and the number of an event"
            .to_owned()
    })
}

/// A position as text.
pub(super) fn describe(at: JournalPoint) -> String {
    match at {
        JournalPoint::Event(seq) => format!("after event {seq}"),
        JournalPoint::Step(step) => format!("after step {step}"),
    }
}
