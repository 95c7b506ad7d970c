//! Which checkpoint a command can have meant that names none: one that was there when it arrived.
//!
//! A caller that sends `continue` twice at once means the same checkpoint twice. The second command
//! may be looked at when the first one has already run a whole layer; it must not run the next one,
//! which its caller has not seen. Commands of this process are put in order by counting arrivals
//! and replies, those of other processes by the time of the journal's events.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::Entry;
use tramline_engine::clock;

/// A journal that is further ahead of the clock than this was written before the clock was set
/// back, and says nothing about the order of events.
const AHEAD_MS_MAX: i64 = 60_000;

/// The commands under way, and what each has changed.
#[derive(Default)]
pub(super) struct Arrivals(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Counts arrivals and replies.
    tick: u64,
    runs: HashMap<RunId, Moves>,
}

/// The commands about one workflow, kept while any of them is under way.
#[derive(Default)]
struct Moves {
    here: usize,
    made: Vec<Move>,
}

struct Move {
    /// The arrival of the command that made it.
    by: u64,
    /// The checkpoint that it answered.
    from: Seq,
    /// When the command was replied to.
    replied: Option<u64>,
}

/// A command about a workflow, from its arrival until it is replied to.
pub(super) struct Arrival<'a> {
    all: &'a Arrivals,
    run: RunId,
    tick: u64,
    at_ms: i64,
    first: bool,
}

impl Arrivals {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a command about a workflow has arrived.
    pub(super) fn arrive(&self, run: &RunId) -> Arrival<'_> {
        let mut known = self.known();
        known.tick += 1;
        let tick = known.tick;
        let moves = known.runs.entry(run.clone()).or_default();
        moves.here += 1;
        Arrival {
            all: self,
            run: run.clone(),
            tick,
            at_ms: clock::now_ms(),
            first: moves.here == 1,
        }
    }
}

impl Arrival<'_> {
    /// When the command arrived, in milliseconds since 1970.
    pub(super) fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// Whether another command about the workflow was under way when this one arrived.
    pub(super) fn is_second(&self) -> bool {
        !self.first
    }

    /// Notes that the command is about to answer a checkpoint.
    pub(super) fn answers(&self, from: Seq) {
        let mut known = self.all.known();
        if let Some(moves) = known.runs.get_mut(&self.run) {
            moves.made.push(Move {
                by: self.tick,
                from,
                replied: None,
            });
        }
    }

    /// Notes that its answer was refused: it has changed nothing.
    pub(super) fn was_refused(&self) {
        let mut known = self.all.known();
        if let Some(moves) = known.runs.get_mut(&self.run) {
            moves.made.retain(|made| made.by != self.tick);
        }
    }

    /// Whether a checkpoint was reached only after the command had arrived.
    pub(super) fn is_before(&self, asked: &Entry) -> bool {
        let ahead_ms = asked.at_ms - self.at_ms;
        if (1..=AHEAD_MS_MAX).contains(&ahead_ms) {
            return true;
        }
        let known = self.all.known();
        let made = known.runs.get(&self.run).map(|moves| &moves.made);
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
        let mut known = self.all.known();
        known.tick += 1;
        let tick = known.tick;
        let Some(moves) = known.runs.get_mut(&self.run) else {
            return;
        };
        moves.here -= 1;
        if moves.here == 0 {
            known.runs.remove(&self.run);
            return;
        }
        let own = moves.made.iter_mut().filter(|made| made.by == self.tick);
        own.for_each(|made| made.replied = Some(tick));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_core::journal::{Event, Pause};

    fn asked(seq: Seq, at_ms: i64) -> Entry {
        let pause = Pause::Layer { index: 0 };
        Entry {
            seq,
            at_ms,
            event: Event::Paused { pause },
        }
    }

    #[test]
    fn a_command_means_no_checkpoint_that_another_one_brought_about_meanwhile() {
        let (arrivals, run) = (Arrivals::default(), "run_a".parse().unwrap());
        let first = arrivals.arrive(&run);
        let second = arrivals.arrive(&run);
        assert!(!first.is_second() && second.is_second());
        first.answers(7);
        assert!(!second.is_before(&asked(7, 0)));
        assert!(second.is_before(&asked(12, 0)));
        drop(first);
        assert!(second.is_before(&asked(12, 0)));
        // Whoever has the reply to the first means what it says.
        let third = arrivals.arrive(&run);
        assert!(!third.is_before(&asked(12, 0)));
        drop((second, third));
        assert!(arrivals.known().runs.is_empty());
    }

    #[test]
    fn a_refused_answer_changes_nothing() {
        let (arrivals, run) = (Arrivals::default(), "run_a".parse().unwrap());
        let first = arrivals.arrive(&run);
        let second = arrivals.arrive(&run);
        first.answers(7);
        first.was_refused();
        assert!(!second.is_before(&asked(12, 0)));
    }

    #[test]
    fn the_journal_tells_what_other_processes_did_after_the_arrival() {
        let (arrivals, run) = (Arrivals::default(), "run_a".parse().unwrap());
        let one = arrivals.arrive(&run);
        assert!(!one.is_before(&asked(7, one.at_ms)));
        assert!(one.is_before(&asked(7, one.at_ms + 1)));
        assert!(!one.is_before(&asked(7, one.at_ms + AHEAD_MS_MAX + 1)));
    }
}
