//! Options of the C library's allocator that keep the memory of a long-lived server small.
//!
//! By default glibc gives up to eight arenas per core to the threads of a process and raises its thresholds
//! after each large allocation that is freed. A server that has handled a few large replies on several
//! threads then holds hundreds of megabytes for good. Even so an arena only returns its end; pages that are free between
//! allocations in use are returned from time to time.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::time::Duration;

/// How many arenas the threads share. Small allocations are served from a cache per thread, so that few
/// arenas cost no speed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: libc::c_int = 4;

/// Bytes. An allocation of this size or larger is returned to the system as soon as it is freed, and an arena returns its
/// unused end when that is larger. Setting it also stops glibc from raising it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURN_BYTES: libc::c_int = 1024 * 1024;

/// How often a server looks whether it holds memory that it does not use.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LOOK_EVERY: Duration = Duration::from_secs(20);

/// Bytes. Free pages are returned once the process has grown by so much since they were last returned: walking
/// through the arenas of a small process is not worth the time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GROWTH_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes. A process of this size returns free pages even if it has not grown. What was in use the last time may be
/// free by now, and nothing but another look finds that out: freeing it does not make the process smaller.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes. After a look at a large process that returned less, the next looks are skipped: its memory is in use.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const WORTHWHILE_BYTES: u64 = 4 * 1024 * 1024;

/// At most this many looks in a row are skipped.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SKIPPED_MAX: u32 = 3;

/// Makes the allocator return freed memory to the system. Call it once, at the beginning of `main`.
///
/// It does nothing where the C library is not glibc.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let options = [
            (libc::M_ARENA_MAX, ARENAS_MAX),
            (libc::M_MMAP_THRESHOLD, RETURN_BYTES),
            (libc::M_TRIM_THRESHOLD, RETURN_BYTES),
        ];
        for (option, value) in options {
            #[allow(unsafe_code, reason = "there is no safe interface to mallopt")]
            // SAFETY: `mallopt` takes two integers, keeps no reference and locks the allocator itself.
            // An option that is refused leaves the default in place.
            let _ = unsafe { libc::mallopt(option, value) };
        }
    }
}

/// Starts a thread that returns free pages to the system whenever the process has grown. For servers: a command
/// ends before it matters.
pub fn return_free_pages_regularly() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let watch = || {
            let mut pages = PageReturn::default();
            loop {
                std::thread::sleep(LOOK_EVERY);
                pages.look();
            }
        };
        let named = std::thread::Builder::new().name("free-pages".to_owned());
        // Without the thread the server works all the same.
        drop(named.stack_size(64 * 1024).spawn(watch));
    }
}

/// When free pages were last returned, and when it is worth looking for them again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[derive(Default)]
struct PageReturn {
    /// Bytes of the process after the last time, or less if it has shrunk by other means.
    after_last: u64,
    /// Looks at a large process that are skipped after one that returned little.
    skipped: u32,
    /// How many of them are left.
    to_skip: u32,
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
impl PageReturn {
    /// Returns free pages if the process has grown, or is large and may hold some.
    fn look(&mut self) {
        let now = resident_bytes();
        let has_grown = now >= self.after_last + GROWTH_BYTES;
        let is_due = now >= LARGE_BYTES && self.to_skip == 0;
        self.to_skip = self.to_skip.saturating_sub(1);
        if !has_grown && !is_due {
            self.after_last = self.after_last.min(now);
            return;
        }
        #[allow(unsafe_code, reason = "there is no safe interface to malloc_trim")]
        // SAFETY: `malloc_trim` takes an integer, keeps no reference and locks the arenas itself.
        let _ = unsafe { libc::malloc_trim(0) };
        self.after_last = resident_bytes();
        let returned = now.saturating_sub(self.after_last);
        self.skipped = match returned < WORTHWHILE_BYTES {
            true => (self.skipped + 1).min(SKIPPED_MAX),
            false => 0,
        };
        self.to_skip = self.skipped;
    }
}

/// Bytes of the process in memory; zero if the system does not say.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0u64) * rustix::param::page_size() as u64
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    fn filled() -> Vec<Vec<u8>> {
        (0..40_000).map(|_| vec![1; 2_000]).collect()
    }

    /// Frees all but one allocation of a hundred, so that no arena can be cut at its end.
    fn thinned(many: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        many.into_iter().step_by(100).collect()
    }

    #[test]
    fn pages_between_allocations_in_use_are_returned() {
        return_freed_memory();
        let mut pages = PageReturn::default();
        pages.look();
        let before = pages.after_last;
        let many = filled();
        let grown = resident_bytes();
        assert!(grown > before + 70_000_000, "{before} to {grown}");
        let kept = thinned(many);
        pages.look();
        let after = pages.after_last;
        assert!(after < before + 20_000_000, "{before} to {after}");
        assert_eq!(kept.len(), 400);
    }

    #[test]
    fn what_was_in_use_at_the_last_look_is_returned_when_it_is_free() {
        return_freed_memory();
        let mut pages = PageReturn::default();
        pages.look();
        let before = pages.after_last;
        let many = filled();
        pages.look();
        let in_use = pages.after_last;
        assert!(in_use > before + 70_000_000, "{before} to {in_use}");
        // The process does not grow again, but what it holds is free now.
        let kept = thinned(many);
        for _ in 0..=SKIPPED_MAX {
            pages.look();
        }
        let after = pages.after_last;
        assert!(after < before + 20_000_000, "{before} to {after}");
        assert_eq!(kept.len(), 400);
    }

    #[test]
    fn a_small_process_is_left_alone_and_a_busy_one_is_looked_at_less_often() {
        let mut pages = PageReturn {
            after_last: u64::MAX / 2,
            skipped: 2,
            to_skip: 2,
        };
        pages.look();
        // Not grown, and not due.
        assert_eq!((pages.skipped, pages.to_skip), (2, 1));
        assert!(pages.after_last <= u64::MAX / 2);
    }
}
