//! What is seen during the attacks: their outcomes, every text that comes out, what went wrong.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many bytes of a secret in a row are a leak: fewer come about by chance.
const LEAK_BYTES: usize = 12;

/// What is longer is searched at its beginning and end only, in bytes for each.
const SEARCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// So many different violations say enough.
const VIOLATIONS_MAX: usize = 60;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// Memory beyond its bound, or more at the end than at the beginning.
    Memory,
    /// More descriptors at the end than at the beginning.
    Descriptors,
    /// More room on the disk than its bound.
    Disk,
    /// A panic, or an end that was not asked for.
    Death,
    /// A normal call or a health check that was not answered in time.
    Hang,
    /// A normal call that was answered wrongly.
    Answer,
    /// A secret in an output or on the disk.
    Leak,
    /// A process that outlives the server that started it.
    Orphan,
    /// A file that was changed, or a command that was started, without a right to it.
    Intrusion,
    /// SIGTERM that took too long.
    Shutdown,
    /// An effect that happened twice.
    Repeated,
    /// An effect without the approval that it needs, or another caller's property.
    Unapproved,
}

/// Something that went wrong, and how often.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Its kind.
    pub wrong: ViolationKind,
    /// What was seen.
    pub what: String,
    /// The attacks that were made when it was first seen.
    pub during: String,
    /// How often.
    pub times: u64,
}

#[derive(Default)]
struct Seen {
    outcomes: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    underway: BTreeMap<u64, &'static str>,
    violations: Vec<Violation>,
    attacks: u64,
}

/// Sees everything.
pub(super) struct Witness {
    seen: Mutex<Seen>,
    /// Every piece of every secret, with the name of the secret.
    pieces: HashMap<Vec<u8>, String>,
    /// Whether a piece begins with these two bytes, by both as a number: most do not.
    begins: Vec<bool>,
    tell: fn(&str),
}

impl Witness {
    /// A witness that knows these secrets by name.
    pub(super) fn new(secrets: &[(&str, &str)], tell: fn(&str)) -> Self {
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
            tell,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attack begins; gives its number.
    pub(super) fn begins(&self, kind: &'static str) -> u64 {
        let mut seen = self.seen();
        seen.attacks += 1;
        let number = seen.attacks;
        seen.underway.insert(number, kind);
        number
    }

    /// An attack has ended so.
    pub(super) fn ends(&self, number: u64, outcome: &'static str) {
        let mut seen = self.seen();
        if let Some(kind) = seen.underway.remove(&number) {
            let outcomes = seen.outcomes.entry(kind).or_default();
            *outcomes.entry(outcome).or_default() += 1;
        }
    }

    /// Something went wrong.
    pub(super) fn violated(&self, wrong: ViolationKind, what: impl Into<String>) {
        let what = what.into();
        let mut seen = self.seen();
        let mut known = seen.violations.iter_mut();
        if let Some(known) = known.find(|known| known.wrong == wrong && known.what == what) {
            known.times += 1;
        } else if seen.violations.len() < VIOLATIONS_MAX {
            let kinds: Vec<_> = seen.underway.values().copied().collect();
            let during = kinds.join(", ");
            (self.tell)(&format!("{wrong:?}: {what}, during {during}"));
            seen.violations.push(Violation {
                wrong,
                what,
                during,
                times: 1,
            });
        }
    }

    /// Searches what came out for pieces of secrets, but for those named.
    pub(super) fn hears(&self, place: &str, bytes: &[u8], but: &[&str]) {
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
            self.violated(ViolationKind::Leak, format!("{name} in {place}"));
        }
    }

    /// Searches a whole file, in pieces that overlap.
    pub(super) fn reads(&self, place: &str, path: &Path, but: &[&str]) {
        let Ok(bytes) = std::fs::read(path) else {
            return;
        };
        for start in (0..bytes.len()).step_by(SEARCH_BYTES_MAX) {
            let end = (start + SEARCH_BYTES_MAX + LEAK_BYTES).min(bytes.len());
            self.search(place, bytes.get(start..end).unwrap_or_default(), but);
        }
    }

    /// What was seen in the end: the attacks with their outcomes, and what went wrong.
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

/// How often each attack ended how.
pub(super) type Outcomes = BTreeMap<&'static str, BTreeMap<&'static str, u64>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_a_secret_is_a_leak_and_its_mask_is_not() {
        let secret = "ghp_abcdefghijklmnop";
        let heard = |text: &str, but: &[&str]| {
            let witness = Witness::new(&[("token", secret)], |_| {});
            witness.hears("a reply", text.as_bytes(), but);
            witness.tally().1.len()
        };
        assert_eq!(heard("ghp…mnop", &[]), 0);
        assert_eq!(heard("[redacted]_abcdefghijklmnop", &[]), 1);
        assert_eq!(heard("[redacted]_abcdefghijklmnop", &["token"]), 0);
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(heard(&hex, &[]), 1);
    }
}
