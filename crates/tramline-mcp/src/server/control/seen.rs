//! The checkpoint that a command is about: the one it names, or the one its caller can have seen.

use super::arrivals::Arrival;
use super::read;
use super::wrong::Wrong;
use tramline_core::Value;
use tramline_core::ids::Seq;
use tramline_core::journal::Policy;
use tramline_engine::{Loaded, stale};

/// The checkpoint that a command is bound to; nothing if the workflow does not wait.
pub(super) fn checkpoint(
    loaded: &Loaded,
    arguments: &Value,
    arrival: &Arrival<'_>,
) -> Result<Option<Seq>, Wrong> {
    let run = &loaded.run;
    if let Some(named) = read::checkpoint(arguments, run)? {
        return match run.pauses.contains_key(&named.seq) {
            true => Ok(Some(named.seq)),
            false => Err(Wrong::from(stale(run, named.seq)).about(run)),
        };
    }
    // Without layers tasks can be added whenever the workflow has not ended.
    if run.started.policy == Policy::Eager {
        return Ok(None);
    }
    was_there(loaded, arrival)?;
    Ok(run.pauses.keys().next().copied())
}

/// Refuses a command if the workflow has come to where it waits only after the command arrived.
pub(super) fn was_there(loaded: &Loaded, arrival: &Arrival<'_>) -> Result<(), Wrong> {
    let run = &loaded.run;
    let entries = &loaded.entries;
    let asked = |seq: &Seq| entries.iter().rev().find(|entry| entry.seq == *seq);
    let came_later = |seq: &&Seq| asked(seq).is_some_and(|entry| arrival.is_before(entry));
    if run.pauses.keys().any(|seq| came_later(&seq)) {
        let message = format!(
            "another command came first, and {} has moved on{}; look at it, and name that \
             checkpoint_id",
            run.id,
            read::waits(run)
        );
        return Err(Wrong::params(message).about(run));
    }
    Ok(())
}
