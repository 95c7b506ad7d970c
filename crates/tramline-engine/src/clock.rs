//! The one place that reads the clock and random numbers, since the core does neither.
//!
//! The system time may be set while the process runs: by hand, or by a time service. Timers and
//! durations must not be disturbed by that, so the time given here follows the boot clock where the
//! two differ by much, and adopts the new system time once it has lasted.

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicI64, Ordering};

/// Change of the system time, in milliseconds, up to which it counts as an ordinary correction by a
/// time service.
const JUMP_MS: i64 = 60_000;

/// Time, in milliseconds, after which a changed system time is adopted: long enough to notice a
/// mistake.
const ADOPT_AFTER_MS: i64 = 10 * 60_000;

/// No time.
const NEVER: i64 = i64::MIN;

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    static CLOCK: SteadyClock = SteadyClock::new();
    CLOCK.read(system_time_ms(), uptime_ms())
}

/// A clock of the system. Through the C library: a profiler that replaces it sees this call too.
#[cfg(target_os = "linux")]
fn read_clock_ms(clock: nix::time::ClockId) -> i64 {
    let time = nix::time::clock_gettime(clock);
    time.map_or(0, |time| time.tv_sec() * 1_000 + time.tv_nsec() / 1_000_000)
}

/// The system time.
#[cfg(target_os = "linux")]
fn system_time_ms() -> i64 {
    read_clock_ms(nix::time::ClockId::CLOCK_REALTIME)
}

/// The time since boot, including sleep.
#[cfg(target_os = "linux")]
fn uptime_ms() -> i64 {
    read_clock_ms(nix::time::ClockId::CLOCK_BOOTTIME)
}

/// The system time.
#[cfg(not(target_os = "linux"))]
fn system_time_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64)
}

/// The time since the first call.
#[cfg(not(target_os = "linux"))]
fn uptime_ms() -> i64 {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let began = BEGAN.get_or_init(std::time::Instant::now);
    began.elapsed().as_millis() as i64
}

/// A system time that does not jump.
///
/// Threads that read it at the same time may see a jump one after the other; each gets a time that
/// was right for it.
#[derive(Debug)]
struct SteadyClock {
    /// The system time at boot, as far as known.
    started_ms: AtomicI64,
    /// When a system time that differs by much was first seen.
    jumped_ms: AtomicI64,
}

impl SteadyClock {
    const fn new() -> Self {
        Self {
            started_ms: AtomicI64::new(NEVER),
            jumped_ms: AtomicI64::new(NEVER),
        }
    }

    fn read(&self, day_ms: i64, up_ms: i64) -> i64 {
        let started = self.started_ms.load(Ordering::Relaxed);
        let ours = started.saturating_add(up_ms);
        if started != NEVER && day_ms.abs_diff(ours) > JUMP_MS as u64 {
            let jumped = self.jumped_ms.load(Ordering::Relaxed);
            if jumped == NEVER {
                self.jumped_ms.store(up_ms, Ordering::Relaxed);
                return ours;
            }
            if up_ms - jumped < ADOPT_AFTER_MS {
                return ours;
            }
        }
        if started.saturating_add(up_ms) != day_ms {
            self.started_ms.store(day_ms - up_ms, Ordering::Relaxed);
        }
        if self.jumped_ms.load(Ordering::Relaxed) != NEVER {
            self.jumped_ms.store(NEVER, Ordering::Relaxed);
        }
        day_ms
    }
}

/// 64 random bits, good enough for ids and seeds, not for secrets.
pub fn random() -> u64 {
    // Every `RandomState` has new keys from the system's randomness.
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;
    /// Some system time, on a machine that booted an hour before.
    const NOON: i64 = 1_800_000_000_000;
    const UP: i64 = 3_600_000;

    #[test]
    fn it_is_the_time_of_day() {
        let clock = SteadyClock::new();
        for ms in 0..1_000 {
            assert_eq!(clock.read(NOON + ms * 997, UP + ms * 997), NOON + ms * 997);
        }
        // It is corrected in small amounts, and after the machine slept.
        assert_eq!(clock.read(NOON + DAY + 900, UP + DAY), NOON + DAY + 900);
        assert_eq!(
            clock.read(NOON + DAY - 30_000, UP + DAY),
            NOON + DAY - 30_000
        );
    }

    #[test]
    fn a_jump_by_days_is_not_followed_at_once() {
        for jump in [3 * DAY, -3 * DAY, 400 * DAY, -3_650 * DAY] {
            let clock = SteadyClock::new();
            assert_eq!(clock.read(NOON, UP), NOON);
            let mut last = NOON;
            for ms in (0..ADOPT_AFTER_MS).step_by(7_000) {
                let now = clock.read(NOON + jump + ms, UP + ms);
                assert_eq!(now, NOON + ms, "{jump}");
                assert!(now >= last);
                last = now;
            }
            // The time was corrected again.
            let later = ADOPT_AFTER_MS + 1;
            assert_eq!(clock.read(NOON + later, UP + later), NOON + later);
        }
    }

    #[test]
    fn a_new_time_that_lasts_is_taken_over() {
        let clock = SteadyClock::new();
        // A machine without a hardware clock, before it has asked for the time.
        assert_eq!(clock.read(7_000, UP), 7_000);
        assert_eq!(clock.read(NOON, UP + 1_000), 8_000);
        let later = ADOPT_AFTER_MS + 1_000;
        assert_eq!(clock.read(NOON + later, UP + later), NOON + later);
        assert_eq!(
            clock.read(NOON + later + 1, UP + later + 1),
            NOON + later + 1
        );
    }

    #[test]
    fn a_jump_and_another_back_leave_no_trace() {
        let clock = SteadyClock::new();
        assert_eq!(clock.read(NOON, UP), NOON);
        assert_eq!(clock.read(NOON + DAY, UP + 10), NOON + 10);
        assert_eq!(clock.read(NOON + 20, UP + 20), NOON + 20);
        // The second jump has to last by itself.
        let later = ADOPT_AFTER_MS + 15;
        assert_eq!(clock.read(NOON + later + DAY, UP + later), NOON + later);
    }
}
