//! Which checkpoint a command without `checkpoint_id` can refer to: one that existed when it arrived.
//!
//! A caller that sends `continue` twice at once means the same checkpoint twice. The second command may be
//! processed after the first has already run a whole layer; it must not run the next one, which its caller has
//! not seen. Commands in this process are ordered by counting arrivals and replies, those of other processes by
//! the timestamps of journal events.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tramline_engine::clock;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::Entry;

/// A journal further ahead of the clock than this, in milliseconds, was written before the clock was set back;
/// its timestamps say nothing about the order of events.
const AHEAD_MS_MAX: i64 = 60_000;

/// The running commands, and the changes each has made.
#[derive(Default)]
pub(super) struct Arrivals(Mutex<ArrivalState>);

#[derive(Default)]
struct ArrivalState {
    /// Counts arrivals and replies.
    tick: u64,
    runs: HashMap<RunId, RunCommands>,
}

/// The commands for one workflow, kept while any of them runs.
#[derive(Default)]
struct RunCommands {
    running: usize,
    answered_checkpoints: Vec<AnsweredCheckpoint>,
}

struct AnsweredCheckpoint {
    /// Arrival tick of the command that made it.
    by: u64,
    /// The checkpoint that it answered.
    from: Seq,
    /// Tick of the reply to the command.
    replied: Option<u64>,
}

/// A command for a workflow, from its arrival until its reply.
pub(super) struct Arrival<'a> {
    all: &'a Arrivals,
    run: RunId,
    tick: u64,
    at_ms: i64,
    first: bool,
}

impl Arrivals {
    fn locked(&self) -> MutexGuard<'_, ArrivalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the arrival of a command for a workflow.
    pub(super) fn arrive(&self, run: &RunId) -> Arrival<'_> {
        let mut known = self.locked();
        known.tick += 1;
        let tick = known.tick;
        let moves = known.runs.entry(run.clone()).or_default();
        moves.running += 1;
        Arrival {
            all: self,
            run: run.clone(),
            tick,
            at_ms: clock::now_ms(),
            first: moves.running == 1,
        }
    }
}

impl Arrival<'_> {
    /// Arrival time in milliseconds since 1970.
    pub(super) fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// Whether another command for the workflow was running when this one arrived.
    pub(super) fn is_concurrent(&self) -> bool {
        !self.first
    }

    /// Records that the command is about to answer a checkpoint.
    pub(super) fn record_answer(&self, from: Seq) {
        let mut known = self.all.locked();
        if let Some(moves) = known.runs.get_mut(&self.run) {
            moves.answered_checkpoints.push(AnsweredCheckpoint {
                by: self.tick,
                from,
                replied: None,
            });
        }
    }

    /// Records that its answer was rejected and changed nothing.
    pub(super) fn discard_answer(&self) {
        let mut known = self.all.locked();
        if let Some(moves) = known.runs.get_mut(&self.run) {
            moves
                .answered_checkpoints
                .retain(|made| made.by != self.tick);
        }
    }

    /// Whether a checkpoint was reached only after the command arrived.
    pub(super) fn arrived_before(&self, asked: &Entry) -> bool {
        let ahead_ms = asked.at_ms - self.at_ms;
        if (1..=AHEAD_MS_MAX).contains(&ahead_ms) {
            return true;
        }
        let known = self.all.locked();
        let made = known
            .runs
            .get(&self.run)
            .map(|moves| &moves.answered_checkpoints);
        made.is_some_and(|made| {
            made.iter().any(|one| {
                let at_once = one.replied.is_none_or(|replied| replied > self.tick);
                one.by != self.tick && at_once && one.from < asked.seq
            })
        })
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let mut known = self.all.locked();
        known.tick += 1;
        let tick = known.tick;
        let Some(moves) = known.runs.get_mut(&self.run) else {
            return;
        };
        moves.running -= 1;
        if moves.running == 0 {
            known.runs.remove(&self.run);
            return;
        }
        let own = moves
            .answered_checkpoints
            .iter_mut()
            .filter(|made| made.by == self.tick);
        own.for_each(|made| made.replied = Some(tick));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_workflow::journal::{Event, Pause, RunEvent};

    fn asked(seq: Seq, at_ms: i64) -> Entry {
        let pause = Pause::Layer { index: 0 };
        Entry {
            seq,
            at_ms,
            event: Event::Run(RunEvent::Paused { pause }),
        }
    }

    #[test]
    fn a_command_means_no_checkpoint_that_another_one_brought_about_meanwhile() {
        let (arrivals, run) = (Arrivals::default(), "run_a".parse().unwrap());
        let first = arrivals.arrive(&run);
        let second = arrivals.arrive(&run);
        assert!(!first.is_concurrent() && second.is_concurrent());
        first.record_answer(7);
        assert!(!second.arrived_before(&asked(7, 0)));
        assert!(second.arrived_before(&asked(12, 0)));
        drop(first);
        assert!(second.arrived_before(&asked(12, 0)));
        // A command sent after the reply to the first refers to the new checkpoint.
        let third = arrivals.arrive(&run);
        assert!(!third.arrived_before(&asked(12, 0)));
        drop((second, third));
        assert!(arrivals.locked().runs.is_empty());
    }

    #[test]
    fn a_refused_answer_changes_nothing() {
        let (arrivals, run) = (Arrivals::default(), "run_a".parse().unwrap());
        let first = arrivals.arrive(&run);
        let second = arrivals.arrive(&run);
        first.record_answer(7);
        first.discard_answer();
        assert!(!second.arrived_before(&asked(12, 0)));
    }

    #[test]
    fn the_journal_tells_what_other_processes_did_after_the_arrival() {
        let (arrivals, run) = (Arrivals::default(), "run_a".parse().unwrap());
        let one = arrivals.arrive(&run);
        assert!(!one.arrived_before(&asked(7, one.at_ms)));
        assert!(one.arrived_before(&asked(7, one.at_ms + 1)));
        assert!(!one.arrived_before(&asked(7, one.at_ms + AHEAD_MS_MAX + 1)));
    }
}
