//! Random choices with a seed, so that a failure can be reproduced.

/// A pseudo-random number generator (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct SeededRng(u64);

impl SeededRng {
    /// A generator with this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An integer from `low` to `high`, inclusive.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True with a probability of `of_100` percent.
    pub(super) fn percent(&mut self, of_100: u64) -> bool {
        self.between(1, 100) <= of_100
    }

    /// A random element.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let last = from.len().checked_sub(1)?;
        from.get(self.between(0, last as u64) as usize)
    }
}
