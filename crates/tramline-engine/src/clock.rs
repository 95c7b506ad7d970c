//! The one place that reads the clock and draws chance, for a core that has neither.

use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64)
}

/// 64 bits nobody can foresee well enough to matter: ids and seeds, no secrets.
pub fn random() -> u64 {
    // Every RandomState is keyed anew from the system's randomness.
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}
