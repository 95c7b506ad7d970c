//! What a process uses, read from outside: memory and descriptors, first, last and at most.

use std::fs;

/// One look at a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Resident memory in kibibytes.
    pub(super) rss_kb: u64,
    /// Open descriptors.
    pub(super) descriptors: u64,
}

impl Sample {
    /// How a process stands now; nothing if it is gone.
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

/// The looks at one server over all its processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// How it stood at first, once it was warm.
    pub(super) first: Option<Sample>,
    /// How it stood at last.
    pub(super) last: Option<Sample>,
    /// The most of each.
    pub(super) peak: Sample,
}

impl Meter {
    /// Takes a look into account; gives whether it is the highest memory so far.
    pub(super) fn see(&mut self, sample: Sample) -> bool {
        self.last = Some(sample);
        let is_higher = sample.rss_kb > self.peak.rss_kb;
        self.peak = Sample {
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
        let sample = Sample::of(std::process::id()).unwrap();
        assert!(sample.rss_kb > 100 && sample.descriptors >= 3, "{sample:?}");
        assert_eq!(Sample::of(u32::MAX), None);
        let mut meter = Meter::default();
        assert!(meter.see(sample));
        assert!(!meter.see(Sample::default()));
        assert_eq!(meter.peak, sample);
    }
}
