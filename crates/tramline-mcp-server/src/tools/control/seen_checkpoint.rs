//! The checkpoint of a command: the one it names, or the one its caller can have seen.

use super::arrivals::Arrival;
use super::error::ControlError;
use super::read;
use tramline_engine::{LoadedRun, stale_checkpoint};
use tramline_expr::Value;
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::SchedulePolicy;

/// The checkpoint of a command; `None` if the workflow is not waiting.
pub(super) fn find(
    loaded: &LoadedRun,
    arguments: &Value,
    arrival: &Arrival<'_>,
) -> Result<Option<Seq>, ControlError> {
    let run = &loaded.run;
    if let Some(named) = read::checkpoint(arguments, run)? {
        return match run.pauses.contains_key(&named.seq) {
            true => Ok(Some(named.seq)),
            false => Err(ControlError::from(stale_checkpoint(run, named.seq)).with_run_state(run)),
        };
    }
    // Without layers, tasks can be added until the workflow has ended.
    if run.started.policy == SchedulePolicy::Eager {
        return Ok(None);
    }
    check_was_seen(loaded, arrival)?;
    Ok(run.pauses.keys().next().copied())
}

/// Rejects a command if the workflow reached its pause only after the command arrived.
pub(super) fn check_was_seen(
    loaded: &LoadedRun,
    arrival: &Arrival<'_>,
) -> Result<(), ControlError> {
    let run = &loaded.run;
    let entries = &loaded.entries;
    let asked = |seq: &Seq| entries.iter().rev().find(|entry| entry.seq == *seq);
    let came_later = |seq: &&Seq| asked(seq).is_some_and(|entry| arrival.arrived_before(entry));
    if run.pauses.keys().any(|seq| came_later(&seq)) {
        let message = format!(
            "another command came first, and {} has advanced{}; review its state and pass that \
             checkpoint_id",
            run.id,
            read::waiting_suffix(run)
        );
        return Err(ControlError::invalid_params(message).with_run_state(run));
    }
    Ok(())
}
