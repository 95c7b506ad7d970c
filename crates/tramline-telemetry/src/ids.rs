//! Ids of traces and spans that follow from a run alone, so that every process names them alike.
//!
//! A run that another process takes over stays in its trace, and a child finds the span it belongs
//! to, without anything being kept or handed around. What is drawn by chance is only what no run
//! stands behind.

use tramline_core::ids::{RunId, StepNo};

/// The trace of a run that nobody called from within another.
pub(crate) fn trace(run: &RunId) -> u128 {
    let low = spread(&[run.as_str(), "trace"]);
    let high = spread(&["trace", run.as_str()]);
    u128::from(high) << 64 | u128::from(low)
}

/// The span of a whole run.
pub(crate) fn run(run: &RunId) -> u64 {
    spread(&[run.as_str(), "run"])
}

/// The span of a step.
pub(crate) fn step(run: &RunId, step: StepNo) -> u64 {
    spread(&[run.as_str(), "step", &step.to_string()])
}

/// The span of one attempt of a step.
pub(crate) fn attempt(run: &RunId, step: StepNo, attempt: u32) -> u64 {
    spread(&[
        run.as_str(),
        "attempt",
        &step.to_string(),
        &attempt.to_string(),
    ])
}

/// The span of a question that a run waits on, by its place in the journal.
pub(crate) fn pause(run: &RunId, seq: u64) -> u64 {
    spread(&[run.as_str(), "pause", &seq.to_string()])
}

/// An id for what no run stands behind.
pub(crate) fn by_chance() -> u64 {
    // Without chance an id is still one; it is only not the only one.
    getrandom::u64().unwrap_or_default().max(1)
}

/// 64 bits that follow from the parts and are never 0: FNV-1a, stirred so that each bit counts.
fn spread(parts: &[&str]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut bits = BASIS;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            bits = (bits ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes of different versions share traces: these may never change.
    #[test]
    fn ids_are_the_same_everywhere() {
        let id: RunId = "run_01k9test".parse().unwrap();
        let told = [run(&id), step(&id, 1), attempt(&id, 1, 2), pause(&id, 3)];
        assert_eq!(told, KNOWN);
        let all: std::collections::BTreeSet<_> = told.into_iter().collect();
        assert_eq!(all.len(), 4);
        assert_ne!(trace(&id) >> 64, trace(&id) & u128::from(u64::MAX));
    }

    /// Worked out by another program.
    const KNOWN: [u64; 4] = [
        0x6b31_3564_ce49_24e0,
        0x525b_6d1a_12f5_b2b6,
        0xbfe7_0301_d5d3_50e7,
        0x83e0_747f_1299_eb1d,
    ];
}
