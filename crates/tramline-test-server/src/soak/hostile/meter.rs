//! Resource usage of a process, measured from outside: memory and descriptors, first, last and
//! peak.

use std::fs;

/// One measurement of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageSample {
    /// Resident memory in kibibytes.
    pub(super) rss_kb: u64,
    /// Open descriptors.
    pub(super) descriptors: u64,
}

impl UsageSample {
    /// The current usage of a process; `None` if it is gone.
    pub(super) fn of(id: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let rss_kb = line.trim().trim_end_matches(" kB").parse().ok()?;
        let descriptors = fs::read_dir(format!("/proc/{id}/fd")).ok()?.count() as u64;
        Some(Self {
            rss_kb,
            descriptors,
        })
    }
}

/// The measurements of one server over all its processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageMeter {
    /// The first measurement, after warm-up.
    pub(super) first: Option<UsageSample>,
    /// The last measurement.
    pub(super) last: Option<UsageSample>,
    /// The peak of each value.
    pub(super) peak: UsageSample,
}

impl UsageMeter {
    /// Adds a measurement; returns whether its memory is the highest so far.
    pub(super) fn add(&mut self, sample: UsageSample) -> bool {
        self.last = Some(sample);
        let is_higher = sample.rss_kb > self.peak.rss_kb;
        self.peak = UsageSample {
            rss_kb: self.peak.rss_kb.max(sample.rss_kb),
            descriptors: self.peak.descriptors.max(sample.descriptors),
        };
        is_higher
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_uses_something() {
        let sample = UsageSample::of(std::process::id()).unwrap();
        assert!(sample.rss_kb > 100 && sample.descriptors >= 3, "{sample:?}");
        assert_eq!(UsageSample::of(u32::MAX), None);
        let mut meter = UsageMeter::default();
        assert!(meter.add(sample));
        assert!(!meter.add(UsageSample::default()));
        assert_eq!(meter.peak, sample);
    }
}
