//! Options of the C library's allocator that keep the memory of a long-lived server small.
//!
//! By default glibc gives up to eight arenas per core to the threads of a process and raises its thresholds
//! after each large allocation that is freed. A server that has handled a few large replies on several
//! threads then holds hundreds of megabytes for good.

/// How many arenas the threads share. Small allocations are served from a cache per thread, so that few
/// arenas cost no speed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: libc::c_int = 4;

/// Bytes. An allocation of this size or larger is returned to the system as soon as it is freed, and an arena returns its
/// unused end when that is larger. Setting it also stops glibc from raising it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURN_BYTES: libc::c_int = 1024 * 1024;

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
