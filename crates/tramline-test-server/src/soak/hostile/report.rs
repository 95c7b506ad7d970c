//! The report of a hostile soak, as a table and as JSON.

use super::meter::{UsageMeter, UsageSample};
use super::witness::Violation;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The report of a hostile soak.
#[derive(Debug, Default)]
pub struct HostileReport {
    /// The seed of the random choices.
    pub seed: u64,
    /// Duration in seconds.
    pub seconds: u64,
    /// Completed rounds of all attacks.
    pub rounds: u64,
    /// Normal calls and health checks answered beside the attacks.
    pub calls: u64,
    /// The slowest normal call, in milliseconds.
    pub slowest_ms: u64,
    /// Servers killed with SIGKILL.
    pub kills: u64,
    /// Servers stopped with SIGTERM.
    pub terms: u64,
    /// The slowest stop by SIGTERM, in milliseconds.
    pub slowest_term_ms: u64,
    /// Servers that had to kill something after SIGTERM.
    pub cut_short: u64,
    /// Processes that outlived the server that started them, and were killed by the soak.
    pub left_behind: u64,
    /// Bytes of all data directories at the end.
    pub disk_bytes: u64,
    /// Resource usage of each server.
    pub meters: BTreeMap<&'static str, UsageMeter>,
    /// Attacks with their outcomes.
    pub outcomes: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// The violations.
    pub violations: Vec<Violation>,
}

impl HostileReport {
    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let sample = |sample: UsageSample| json!({"rss_kb": sample.rss_kb, "descriptors": sample.descriptors});
        let meters = self.meters.iter().map(|(name, meter)| {
            let told = json!({
                "first": meter.first.map(sample),
                "last": meter.last.map(sample),
                "peak": sample(meter.peak),
            });
            ((*name).to_owned(), told)
        });
        let violations = self.violations.iter().map(|violation| {
            let kind = format!("{:?}", violation.kind).to_lowercase();
            json!({"kind": kind, "what": violation.what, "during": violation.during, "times": violation.times})
        });
        json!({
            "seed": self.seed,
            "seconds": self.seconds,
            "rounds": self.rounds,
            "calls": self.calls,
            "slowest_ms": self.slowest_ms,
            "kills": self.kills,
            "terms": self.terms,
            "slowest_term_ms": self.slowest_term_ms,
            "cut_short": self.cut_short,
            "left_behind": self.left_behind,
            "disk_bytes": self.disk_bytes,
            "servers": meters.collect::<serde_json::Map<_, _>>(),
            "attacks": self.outcomes,
            "violations": violations.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for HostileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, {} s, {} rounds of all attacks",
            self.seed, self.seconds, self.rounds
        )?;
        writeln!(
            f,
            "{:>8} normal calls and health checks, the slowest {} ms",
            self.calls, self.slowest_ms
        )?;
        writeln!(
            f,
            "{:>8} times SIGKILL, {} times SIGTERM (slowest {} ms, {} cut short), {} processes left",
            self.kills, self.terms, self.slowest_term_ms, self.cut_short, self.left_behind
        )?;
        writeln!(f, "{:>8} kB on disk\n", self.disk_bytes / 1024)?;
        writeln!(
            f,
            "{:<10}{:>30}{:>30}",
            "server", "RSS first/last/peak MB", "descriptors first/last/peak"
        )?;
        for (name, meter) in &self.meters {
            let (first, last) = (
                meter.first.unwrap_or_default(),
                meter.last.unwrap_or_default(),
            );
            let memory = [first, last, meter.peak].map(|it| (it.rss_kb / 1024).to_string());
            let descriptors = [first, last, meter.peak].map(|it| it.descriptors.to_string());
            let (memory, descriptors) = (memory.join(" / "), descriptors.join(" / "));
            writeln!(f, "{name:<10}{memory:>30}{descriptors:>30}")?;
        }
        writeln!(f, "\n{:<44}outcomes", "attack")?;
        for (kind, outcomes) in &self.outcomes {
            let told: Vec<_> = outcomes
                .iter()
                .map(|(outcome, count)| format!("{outcome} {count}"))
                .collect();
            writeln!(f, "{kind:<44}{}", told.join(", "))?;
        }
        writeln!(f)?;
        for violation in &self.violations {
            let Violation {
                kind: wrong,
                what,
                during,
                times,
            } = violation;
            writeln!(f, "{wrong:?} ({times} times): {what}")?;
            if !during.is_empty() {
                writeln!(f, "    first seen during {during}")?;
            }
        }
        write!(f, "{} violations", self.violations.len())
    }
}
