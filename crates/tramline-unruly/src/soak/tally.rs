//! What a soak counts.

use std::collections::BTreeMap;
use std::fmt;

/// How a soak went.
#[derive(Debug, Default)]
pub struct Tally {
    /// Graphs run to their end.
    pub rounds: u64,
    /// Kills by where in the run they struck.
    pub places: BTreeMap<String, u64>,
    /// Kills by which command they struck, and whether its servers died with it.
    pub victims: BTreeMap<String, u64>,
    /// Commands that were to be killed and ended before.
    pub escaped: u64,
    /// Times a run was taken over.
    pub resumed: u64,
    /// Calls in doubt that had happened.
    pub happened: u64,
    /// Calls in doubt that had not.
    pub not_happened: u64,
    /// Calls that may not be repeated, all seen exactly once.
    pub calls: u64,
    /// What should not be.
    pub violations: Vec<String>,
}

impl Tally {
    /// How many processes were killed while they worked.
    pub fn kills(&self) -> u64 {
        self.victims.values().sum()
    }

    pub(super) fn killed(&mut self, victim: &str, place: String) {
        *self.victims.entry(victim.to_owned()).or_default() += 1;
        *self.places.entry(place).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: Self) {
        for (place, count) in other.places {
            *self.places.entry(place).or_default() += count;
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

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>6} rounds", self.rounds)?;
        let (kills, escaped) = (self.kills(), self.escaped);
        writeln!(f, "{kills:>6} kills ({escaped} came too late)")?;
        for (what, count) in self.victims.iter().chain(&self.places) {
            writeln!(f, "{count:>6}   {what}")?;
        }
        writeln!(f, "{:>6} times resumed", self.resumed)?;
        let doubts = self.happened + self.not_happened;
        writeln!(
            f,
            "{doubts:>6} calls in doubt: {} had happened, {} had not",
            self.happened, self.not_happened
        )?;
        writeln!(f, "{:>6} calls that may not be repeated", self.calls)?;
        write!(f, "{:>6} violations", self.violations.len())
    }
}
