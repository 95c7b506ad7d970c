//! Whether many write at once.
//!
//! Who writes alone writes by itself, which is soonest. In a crowd that would be a loss: a thread that
//! waits for the disk leaves others waiting that it should answer, and each would have a sync of its
//! own. A crowd on one thread cannot even be seen, because whoever writes there keeps the next from
//! coming; so now and then somebody who seems alone is sent to the writing thread, to see who comes
//! meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

/// So many groups of one in a row, and the crowd has gone.
const CALM_AFTER: usize = 4;

/// One of so many who seem alone is sent to the writing thread.
const LOOK_EVERY: usize = 64;

/// What is known of who writes.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// Groups of one until it counts as gone; none if there is no crowd.
    left: AtomicUsize,
    /// How many seemed alone.
    seemed: AtomicUsize,
}

impl Crowd {
    /// Whether somebody who seems alone writes by itself.
    pub(super) fn lets_alone(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
            && self.seemed.fetch_add(1, Ordering::Relaxed) % LOOK_EVERY != LOOK_EVERY - 1
    }

    /// Takes note of a group of so many. Only who writes does this.
    pub(super) fn wrote(&self, jobs: usize) {
        let left = match jobs {
            0 | 1 => self.left.load(Ordering::Relaxed).saturating_sub(1),
            _ => CALM_AFTER,
        };
        self.left.store(left, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_writes_alone_but_for_a_look_now_and_then() {
        let crowd = Crowd::default();
        let alone = (0..LOOK_EVERY * 4).filter(|_| {
            crowd.wrote(1);
            crowd.lets_alone()
        });
        assert_eq!(alone.count(), (LOOK_EVERY - 1) * 4);
    }

    #[test]
    fn a_crowd_is_over_after_several_groups_of_one() {
        let crowd = Crowd::default();
        crowd.wrote(2);
        for _ in 0..CALM_AFTER {
            assert!(!crowd.lets_alone());
            crowd.wrote(1);
        }
        assert!(crowd.lets_alone());
    }
}
