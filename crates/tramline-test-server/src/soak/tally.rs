//! The counters of a soak.

use std::collections::BTreeMap;
use std::fmt;

/// The results of a soak.
#[derive(Debug, Default)]
pub struct SoakTally {
    /// Graphs run to their end.
    pub rounds: u64,
    /// Kills by the state of the run.
    pub kill_states: BTreeMap<String, u64>,
    /// Kills by command, and whether its servers were killed with it.
    pub victims: BTreeMap<String, u64>,
    /// Commands that ended before they could be killed.
    pub escaped: u64,
    /// Number of resumed runs.
    pub resumed: u64,
    /// Calls in doubt that had happened.
    pub happened: u64,
    /// Calls in doubt that had not.
    pub not_happened: u64,
    /// Non-repeatable calls, each seen exactly once.
    pub calls: u64,
    /// Violations.
    pub violations: Vec<String>,
}

impl SoakTally {
    /// Number of processes killed while they worked.
    pub fn kills(&self) -> u64 {
        self.victims.values().sum()
    }

    pub(super) fn killed(&mut self, victim: &str, place: String) {
        *self.victims.entry(victim.to_owned()).or_default() += 1;
        *self.kill_states.entry(place).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: Self) {
        for (place, count) in other.kill_states {
            *self.kill_states.entry(place).or_default() += count;
        }
        for (victim, count) in other.victims {
            *self.victims.entry(victim).or_default() += count;
        }
        self.rounds += other.rounds;
        self.escaped += other.escaped;
        self.resumed += other.resumed;
        self.happened += other.happened;
        self.not_happened += other.not_happened;
        self.calls += other.calls;
        self.violations.extend(other.violations);
    }
}

impl fmt::Display for SoakTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>6} rounds", self.rounds)?;
        let (kills, escaped) = (self.kills(), self.escaped);
        writeln!(f, "{kills:>6} kills ({escaped} came too late)")?;
        for (what, count) in self.victims.iter().chain(&self.kill_states) {
            writeln!(f, "{count:>6}   {what}")?;
        }
        writeln!(f, "{:>6} times resumed", self.resumed)?;
        let doubts = self.happened + self.not_happened;
        writeln!(
            f,
            "{doubts:>6} calls in doubt: {} had happened, {} had not",
            self.happened, self.not_happened
        )?;
        writeln!(f, "{:>6} non-repeatable calls", self.calls)?;
        write!(f, "{:>6} violations", self.violations.len())
    }
}
