//! Who waits for changes of which run, and which changes other replicas have announced.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tramline_engine::ports::KnownEvents;
use tramline_workflow::ids::{RunId, Seq};

/// How often runs are compared with the database although nothing was announced.
pub(crate) const POLL_EVERY: Duration = Duration::from_secs(1);
/// Announcements that are kept until somebody asks; beyond this everything is compared.
const ANNOUNCED_MAX: usize = 10_000;

/// The waiting parts of this process.
#[derive(Debug, Default)]
pub(crate) struct ChangeHub {
    any: watch::Sender<u64>,
    /// Notified when there is something to announce.
    pub(crate) wakeup: Notify,
    state: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    /// By run, with the last event that was seen by polling.
    waiting: HashMap<RunId, (watch::Sender<u64>, Seq)>,
    /// Runs that other replicas have announced since the drivers were last asked for.
    announced: HashSet<RunId>,
    /// Our own commits that the others do not know of yet.
    unannounced: HashSet<RunId>,
    compared: Option<Instant>,
}

impl ChangeHub {
    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes after every commit.
    pub(crate) fn any(&self) -> watch::Receiver<u64> {
        self.any.subscribe()
    }

    /// Changes after every commit to a run.
    pub(crate) fn of(&self, run: &RunId) -> watch::Receiver<u64> {
        let mut state = self.state();
        let entry = state.waiting.entry(run.clone());
        let (sender, _) = entry.or_insert_with(|| (watch::Sender::new(0), 0));
        sender.subscribe()
    }

    /// Reports commits of this process.
    pub(crate) fn committed<'a>(&self, runs: impl Iterator<Item = &'a RunId>) {
        let mut state = self.state();
        for run in runs {
            state.pulse(run);
            state.unannounced.insert(run.clone());
        }
        drop(state);
        self.wakeup.notify_one();
        self.tick();
    }

    /// Reports commits of other replicas.
    pub(crate) fn announced(&self, runs: impl Iterator<Item = RunId>) {
        let mut state = self.state();
        for run in runs {
            state.pulse(&run);
            if state.announced.len() >= ANNOUNCED_MAX {
                state.compared = None;
            } else {
                state.announced.insert(run);
            }
        }
        drop(state);
        self.tick();
    }

    /// Notifies those who wait for any change.
    pub(crate) fn tick(&self) {
        self.any.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Our commits since the last call, for the other replicas.
    pub(crate) fn take_unannounced(&self) -> HashSet<RunId> {
        std::mem::take(&mut self.state().unannounced)
    }

    /// Which of these runs have to be compared with the database: those that were announced, and all of them once in
    /// a while.
    pub(crate) fn to_compare(&self, known: &[KnownEvents]) -> Vec<RunId> {
        let mut state = self.state();
        let is_due = state
            .compared
            .is_none_or(|compared| compared.elapsed() >= POLL_EVERY);
        if is_due {
            state.compared = Some(Instant::now());
        }
        let announced = std::mem::take(&mut state.announced);
        let chosen = known
            .iter()
            .map(|known| &known.run)
            .filter(|run| is_due || announced.contains(*run));
        chosen.cloned().collect()
    }

    /// The runs that somebody waits for. Forgets the others.
    pub(crate) fn waited_for(&self) -> Vec<RunId> {
        let mut state = self.state();
        state
            .waiting
            .retain(|_, (sender, _)| sender.receiver_count() > 0);
        state.waiting.keys().cloned().collect()
    }

    /// Reports the last event of a run, as polled.
    pub(crate) fn polled(&self, run: &RunId, last: Seq) {
        let mut state = self.state();
        if let Some((sender, seen)) = state.waiting.get_mut(run)
            && *seen != last
        {
            *seen = last;
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}

impl HubState {
    fn pulse(&self, run: &RunId) {
        if let Some((sender, _)) = self.waiting.get(run) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
