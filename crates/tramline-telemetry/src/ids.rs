//! Ids of traces and spans that follow from a run alone, so that every process names them alike.
//!
//! A run that another process takes over stays in its trace, and a child finds the span it belongs
//! to, without anything being kept or handed around. What is drawn by chance is only what no run
//! stands behind.

use tramline_core::ids::{RunId, Seq, StepNo};

/// The ids of one run's trace and spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids<'a> {
    run: &'a RunId,
    /// What every id but one begins with.
    begun: Spread,
}

impl<'a> Ids<'a> {
    pub(crate) fn of(run: &'a RunId) -> Self {
        let begun = Spread::new().word(run.as_str());
        Self { run, begun }
    }

    /// The trace of a run that nobody called from within another.
    pub(crate) fn trace(self) -> u128 {
        let low = self.begun.word("trace").stirred();
        let high = Spread::new()
            .word("trace")
            .word(self.run.as_str())
            .stirred();
        u128::from(high) << 64 | u128::from(low)
    }

    /// The span of a whole run.
    pub(crate) fn run(self) -> u64 {
        self.begun.word("run").stirred()
    }

    /// The span of a step.
    pub(crate) fn step(self, step: StepNo) -> u64 {
        self.begun.word("step").number(step.into()).stirred()
    }

    /// The span of one attempt of a step.
    pub(crate) fn attempt(self, step: StepNo, attempt: u32) -> u64 {
        let step = self.begun.word("attempt").number(step.into());
        step.number(attempt.into()).stirred()
    }

    /// The span of a question that the run waits on, by its place in the journal.
    pub(crate) fn pause(self, seq: Seq) -> u64 {
        self.begun.word("pause").number(seq).stirred()
    }
}

/// An id for what no run stands behind.
pub(crate) fn by_chance() -> u64 {
    // Without chance an id is still one; it is only not the only one.
    getrandom::u64().unwrap_or_default().max(1)
}

/// 64 bits that follow from words: FNV-1a.
#[derive(Clone, Copy, Debug)]
struct Spread(u64);

impl Spread {
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

    /// The bits stirred so that each one counts, and never 0.
    fn stirred(self) -> u64 {
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes of different versions share traces: these may never change.
    #[test]
    fn ids_are_the_same_everywhere() {
        let id: RunId = "run_01k9test".parse().unwrap();
        let ids = Ids::of(&id);
        let told = [ids.run(), ids.step(1), ids.attempt(1, 2), ids.pause(3)];
        assert_eq!(told, KNOWN);
        let all: std::collections::BTreeSet<_> = told.into_iter().collect();
        assert_eq!(all.len(), 4);
        assert_ne!(ids.trace() >> 64, ids.trace() & u128::from(u64::MAX));
    }

    /// Worked out by another program.
    const KNOWN: [u64; 4] = [
        0x6b31_3564_ce49_24e0,
        0x525b_6d1a_12f5_b2b6,
        0xbfe7_0301_d5d3_50e7,
        0x83e0_747f_1299_eb1d,
    ];
}
