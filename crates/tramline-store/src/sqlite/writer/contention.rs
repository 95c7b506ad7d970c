//! Detects contention among writers.
//!
//! A lone writer writes on its own thread, which is fastest. Under contention that is a loss: a
//! thread that waits for the disk cannot serve others, and each job would need its own sync.
//! Contention on a single-threaded runtime cannot be observed, because the current writer blocks
//! the next one; so now and then a job that seems alone is sent to the writer thread, to see what
//! arrives meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

/// After this many groups of one in a row, contention is over.
const CONTENTION_ENDS_AFTER: usize = 4;

/// One in this many jobs that seem alone is sent to the writer thread.
const PROBE_EVERY: usize = 64;

/// The contention state.
#[derive(Debug, Default)]
pub(super) struct Contention {
    /// Groups of one until contention is over; 0 without contention.
    groups_left: AtomicUsize,
    /// How many jobs seemed alone.
    seemed_alone: AtomicUsize,
}

impl Contention {
    /// Whether a job that seems alone is done on its caller's thread.
    pub(super) fn allows_inline(&self) -> bool {
        self.groups_left.load(Ordering::Relaxed) == 0
            && self.seemed_alone.fetch_add(1, Ordering::Relaxed) % PROBE_EVERY != PROBE_EVERY - 1
    }

    /// Records the size of a group. Only the current writer calls this.
    pub(super) fn record_group(&self, jobs: usize) {
        let left = match jobs {
            0 | 1 => self.groups_left.load(Ordering::Relaxed).saturating_sub(1),
            _ => CONTENTION_ENDS_AFTER,
        };
        self.groups_left.store(left, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_writes_alone_but_for_a_look_now_and_then() {
        let crowd = Contention::default();
        let alone = (0..PROBE_EVERY * 4).filter(|_| {
            crowd.record_group(1);
            crowd.allows_inline()
        });
        assert_eq!(alone.count(), (PROBE_EVERY - 1) * 4);
    }

    #[test]
    fn a_crowd_is_over_after_several_groups_of_one() {
        let crowd = Contention::default();
        crowd.record_group(2);
        for _ in 0..CONTENTION_ENDS_AFTER {
            assert!(!crowd.allows_inline());
            crowd.record_group(1);
        }
        assert!(crowd.allows_inline());
    }
}
