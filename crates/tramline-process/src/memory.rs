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
            let mut after_last = 0;
            loop {
                std::thread::sleep(LOOK_EVERY);
                after_last = return_pages_if_grown(after_last);
            }
        };
        let named = std::thread::Builder::new().name("free-pages".to_owned());
        // Without the thread the server works all the same.
        drop(named.stack_size(64 * 1024).spawn(watch));
    }
}

/// Returns free pages if the process has grown since it used `before` bytes; what it used after that.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_pages_if_grown(before: u64) -> u64 {
    let now = resident_bytes();
    if now < before + GROWTH_BYTES {
        // Memory may have been returned by other means.
        return before.min(now);
    }
    #[allow(unsafe_code, reason = "there is no safe interface to malloc_trim")]
    // SAFETY: `malloc_trim` takes an integer, keeps no reference and locks the arenas itself.
    let _ = unsafe { libc::malloc_trim(0) };
    resident_bytes()
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

    #[test]
    fn pages_between_allocations_in_use_are_returned() {
        return_freed_memory();
        let before = return_pages_if_grown(0);
        let many: Vec<Vec<u8>> = (0..40_000).map(|_| vec![1; 2_000]).collect();
        let grown = resident_bytes();
        assert!(grown > before + 70_000_000, "{before} to {grown}");
        // One allocation of a hundred stays, so that no arena can be cut at its end.
        let kept: Vec<Vec<u8>> = many.into_iter().step_by(100).collect();
        let after = return_pages_if_grown(before);
        assert!(after < before + 20_000_000, "{before} to {after}");
        assert_eq!(kept.len(), 400);
        // A process that has not grown is left alone.
        assert_eq!(return_pages_if_grown(after), after.min(resident_bytes()));
    }
}
