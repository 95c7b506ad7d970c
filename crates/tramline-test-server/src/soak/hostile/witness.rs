//! Observations during the attacks: their outcomes, leaked secrets, violations.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Consecutive bytes of a secret that count as a leak: fewer may match by chance.
const LEAK_BYTES: usize = 12;

/// Longer data is searched only at its start and end, this many bytes each.
const SEARCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Different violations that are recorded.
const VIOLATIONS_MAX: usize = 60;

/// The kind of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// Memory beyond its limit, or growth over the soak.
    Memory,
    /// More descriptors at the end than at the start.
    Descriptors,
    /// More disk space than the limit.
    Disk,
    /// A panic or an unexpected exit.
    Death,
    /// A normal call or a health check that was not answered in time.
    Hang,
    /// A normal call with a wrong answer.
    Answer,
    /// A secret in an output or on disk.
    Leak,
    /// A process that outlives the server that started it.
    Orphan,
    /// A file that was changed, or a command that was started, without permission.
    Intrusion,
    /// A stop by SIGTERM that took too long.
    Shutdown,
    /// An effect that happened twice.
    Repeated,
    /// An effect without the required approval, or access to another caller's data.
    Unapproved,
}

/// A violation, and how often it occurred.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Its kind.
    pub kind: ViolationKind,
    /// A description.
    pub what: String,
    /// The attacks in progress when it was first seen.
    pub during: String,
    /// The number of occurrences.
    pub times: u64,
}

#[derive(Default)]
struct Observations {
    outcomes: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    underway: BTreeMap<u64, &'static str>,
    violations: Vec<Violation>,
    attacks: u64,
}

/// Records observations from all threads.
pub(super) struct Witness {
    seen: Mutex<Observations>,
    /// Every fragment of every secret, with the name of the secret.
    pieces: HashMap<Vec<u8>, String>,
    /// For every pair of bytes, whether a fragment starts with it: most do not.
    begins: Vec<bool>,
    on_violation: fn(&str),
}

impl Witness {
    /// A witness that knows these secrets by name.
    pub(super) fn new(secrets: &[(&str, &str)], on_violation: fn(&str)) -> Self {
        let (mut pieces, mut begins) = (HashMap::new(), vec![false; 1 << 16]);
        for (name, secret) in secrets {
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            let forms = [secret.as_bytes(), hex.as_bytes()];
            for piece in forms.iter().flat_map(|form| form.windows(LEAK_BYTES)) {
                if let Some(begins) = begins.get_mut(begin(piece)) {
                    *begins = true;
                }
                pieces.insert(piece.to_vec(), (*name).to_owned());
            }
        }
        Self {
            seen: Mutex::default(),
            pieces,
            begins,
            on_violation,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Observations> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the start of an attack; returns its number.
    pub(super) fn attack_started(&self, kind: &'static str) -> u64 {
        let mut seen = self.seen();
        seen.attacks += 1;
        let number = seen.attacks;
        seen.underway.insert(number, kind);
        number
    }

    /// Records the outcome of an attack.
    pub(super) fn attack_ended(&self, number: u64, outcome: &'static str) {
        let mut seen = self.seen();
        if let Some(kind) = seen.underway.remove(&number) {
            let outcomes = seen.outcomes.entry(kind).or_default();
            *outcomes.entry(outcome).or_default() += 1;
        }
    }

    /// Records a violation.
    pub(super) fn record_violation(&self, wrong: ViolationKind, what: impl Into<String>) {
        let what = what.into();
        let mut seen = self.seen();
        let mut known = seen.violations.iter_mut();
        if let Some(known) = known.find(|known| known.kind == wrong && known.what == what) {
            known.times += 1;
        } else if seen.violations.len() < VIOLATIONS_MAX {
            let kinds: Vec<_> = seen.underway.values().copied().collect();
            let during = kinds.join(", ");
            (self.on_violation)(&format!("{wrong:?}: {what}, during {during}"));
            seen.violations.push(Violation {
                kind: wrong,
                what,
                during,
                times: 1,
            });
        }
    }

    /// Searches output for fragments of secrets, except those named in `but`.
    pub(super) fn search_output(&self, place: &str, bytes: &[u8], but: &[&str]) {
        let ends = [
            bytes.get(..SEARCH_BYTES_MAX).unwrap_or(bytes),
            bytes
                .get(bytes.len().saturating_sub(SEARCH_BYTES_MAX)..)
                .unwrap_or_default(),
        ];
        let parts = if bytes.len() > SEARCH_BYTES_MAX { 2 } else { 1 };
        for part in ends.iter().take(parts) {
            self.search(place, part, but);
        }
    }

    fn search(&self, place: &str, bytes: &[u8], but: &[&str]) {
        let mut told: Vec<&String> = bytes
            .windows(LEAK_BYTES)
            .filter(|window| self.begins.get(begin(window)) == Some(&true))
            .filter_map(|window| self.pieces.get(window))
            .filter(|name| !but.contains(&name.as_str()))
            .collect();
        told.sort();
        told.dedup();
        for name in told {
            self.record_violation(ViolationKind::Leak, format!("{name} in {place}"));
        }
    }

    /// Searches a whole file, in overlapping parts.
    pub(super) fn search_file(&self, place: &str, path: &Path, but: &[&str]) {
        let Ok(bytes) = std::fs::read(path) else {
            return;
        };
        for start in (0..bytes.len()).step_by(SEARCH_BYTES_MAX) {
            let end = (start + SEARCH_BYTES_MAX + LEAK_BYTES).min(bytes.len());
            self.search(place, bytes.get(start..end).unwrap_or_default(), but);
        }
    }

    /// The outcomes of the attacks, and the violations.
    pub(super) fn tally(&self) -> (Outcomes, Vec<Violation>) {
        let seen = self.seen();
        (seen.outcomes.clone(), seen.violations.clone())
    }
}

/// The first two bytes as a number.
fn begin(piece: &[u8]) -> usize {
    let bytes = piece.iter().take(2);
    bytes.fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// The number of times each attack had each outcome.
pub(super) type Outcomes = BTreeMap<&'static str, BTreeMap<&'static str, u64>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_a_secret_is_a_leak_and_its_mask_is_not() {
        let secret = "ghp_abcdefghijklmnop";
        let heard = |text: &str, but: &[&str]| {
            let witness = Witness::new(&[("token", secret)], |_| {});
            witness.search_output("a reply", text.as_bytes(), but);
            witness.tally().1.len()
        };
        assert_eq!(heard("ghp…mnop", &[]), 0);
        assert_eq!(heard("[redacted]_abcdefghijklmnop", &[]), 1);
        assert_eq!(heard("[redacted]_abcdefghijklmnop", &["token"]), 0);
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(heard(&hex, &[]), 1);
    }
}
