//! Ids of traces and spans that are derived from a run alone, so that every process computes the same ones.
//!
//! A run that another process takes over stays in its trace, and a child run finds its parent span, without storing or
//! passing anything. Only spans without a run have random ids.

use tramline_workflow::ids::{RunId, Seq, StepNo};

/// The ids of one run's trace and spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanIds<'a> {
    run: &'a RunId,
    /// The common hash prefix of all ids but one.
    prefix: Fnv64,
}

impl<'a> SpanIds<'a> {
    pub(crate) fn of(run: &'a RunId) -> Self {
        let prefix = Fnv64::new().word(run.as_str());
        Self { run, prefix }
    }

    /// The trace of a run without a parent.
    pub(crate) fn trace(self) -> u128 {
        let low = self.prefix.word("trace").finish();
        let high = Fnv64::new().word("trace").word(self.run.as_str()).finish();
        u128::from(high) << 64 | u128::from(low)
    }

    /// The span of a whole run.
    pub(crate) fn run(self) -> u64 {
        self.prefix.word("run").finish()
    }

    /// The span of a step.
    pub(crate) fn step(self, step: StepNo) -> u64 {
        self.prefix.word("step").number(step.into()).finish()
    }

    /// The span of one attempt of a step.
    pub(crate) fn attempt(self, step: StepNo, attempt: u32) -> u64 {
        let step = self.prefix.word("attempt").number(step.into());
        step.number(attempt.into()).finish()
    }

    /// The span of a pause, by its position in the journal.
    pub(crate) fn pause(self, seq: Seq) -> u64 {
        self.prefix.word("pause").number(seq).finish()
    }
}

/// A random id, for spans without a run.
pub(crate) fn random_id() -> u64 {
    // Without randomness the id is still valid, only not unique.
    getrandom::u64().unwrap_or_default().max(1)
}

/// A 64-bit FNV-1a hash of words.
#[derive(Clone, Copy, Debug)]
struct Fnv64(u64);

impl Fnv64 {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    fn word(self, word: &str) -> Self {
        word.bytes().fold(self, Self::byte).byte(0)
    }

    fn number(self, number: u64) -> Self {
        self.word(itoa::Buffer::new().format(number))
    }

    /// The hash with its bits mixed, and never 0.
    fn finish(self) -> u64 {
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes of different versions share traces: these ids must never change.
    #[test]
    fn ids_are_the_same_everywhere() {
        let id: RunId = "run_01k9test".parse().unwrap();
        let ids = SpanIds::of(&id);
        let told = [ids.run(), ids.step(1), ids.attempt(1, 2), ids.pause(3)];
        assert_eq!(told, KNOWN);
        let all: std::collections::BTreeSet<_> = told.into_iter().collect();
        assert_eq!(all.len(), 4);
        assert_ne!(ids.trace() >> 64, ids.trace() & u128::from(u64::MAX));
    }

    /// Computed by another program.
    const KNOWN: [u64; 4] = [
        0x6b31_3564_ce49_24e0,
        0x525b_6d1a_12f5_b2b6,
        0xbfe7_0301_d5d3_50e7,
        0x83e0_747f_1299_eb1d,
    ];
}
