//! Quotas on open runs and journal size, checked before a start.

use super::{ActiveRun, Engine};
use crate::fault::Fault;
use crate::ports::StoreUsage;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};

/// Time for which a count is valid; runs that others start are seen after it.
const USAGE_COUNT_TTL: Duration = Duration::from_secs(1);
/// Shortest interval between counts while the quota is exceeded.
const RECOUNT_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Part of the disk quota, in percent, from which on old runs are pruned early.
const NEARLY_FULL_PERCENT: u64 = 80;

/// The space that all runs have together. A missing value means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// How many runs may be open (running or paused).
    pub runs_open_max: Option<u64>,
    /// How many bytes all journals may hold.
    pub bytes_max: Option<u64>,
    /// How many bytes the store may use on disk.
    pub disk_bytes_max: Option<u64>,
}

impl Quota {
    /// Whether a store of this size leaves little of the disk quota.
    fn is_nearly_full(&self, disk_bytes: u64) -> bool {
        let is_near = |most: u64| disk_bytes >= most / 100 * NEARLY_FULL_PERCENT;
        self.disk_bytes_max.is_some_and(is_near)
    }

    /// Why the quota does not allow another run.
    fn exceeded(&self, usage: &StoreUsage) -> Option<String> {
        if let Some(most) = self.runs_open_max
            && usage.open >= most
        {
            return Some(format!(
                "{} runs are open, the quota is {most}; end some or wait until some have ended",
                usage.open
            ));
        }
        if let Some(most) = self.bytes_max
            && usage.bytes >= most
        {
            return Some(format!(
                "the journals hold {} bytes, the quota is {most}; `tramline runs rm` removes old runs",
                usage.bytes
            ));
        }
        None
    }
}

/// The last count and its time.
pub(super) type UsageCount = Mutex<LastUsage>;

type LastUsage = Option<(Instant, StoreUsage)>;

/// The last measured disk usage of the store.
pub(super) type DiskUsage = Mutex<Option<(Instant, u64)>>;

/// A reservation for one run: no other caller can reserve while it exists.
pub(super) struct QuotaGuard<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, LastUsage>);

impl Engine {
    /// Reserves space for another run, which must start before the returned guard is dropped.
    pub(super) async fn reserve_run(&self) -> Result<Option<QuotaGuard<'_>>, Fault> {
        let quota = self.0.options.quota;
        if let Some(most) = quota.disk_bytes_max {
            self.check_disk_quota(most).await?;
        }
        if quota.runs_open_max.is_none() && quota.bytes_max.is_none() {
            return Ok(None);
        }
        let mut counted = self.0.usage.lock().await;
        let full = |counted: &LastUsage| counted.and_then(|(_, usage)| quota.exceeded(&usage));
        let holds = match full(&counted) {
            None => USAGE_COUNT_TTL,
            Some(_) => RECOUNT_INTERVAL_MIN,
        };
        if counted.is_none_or(|(at, _)| at.elapsed() >= holds) {
            let mut usage = self.0.store.usage().await?;
            usage.open += self.unwritten_runs();
            *counted = Some((Instant::now(), usage));
        }
        if let Some(why) = full(&counted) {
            return Err(Fault::Quota(why));
        }
        if let Some((_, usage)) = counted.as_mut() {
            usage.open += 1;
        }
        Ok(Some(QuotaGuard(counted)))
    }

    /// Whether the disk quota allows an agent to store something other than a run.
    pub async fn check_disk_room(&self) -> Result<(), Fault> {
        match self.0.options.quota.disk_bytes_max {
            Some(most) => self.check_disk_quota(most).await,
            None => Ok(()),
        }
    }

    /// Whether the disk quota allows more, by the bytes in use in the store's files.
    async fn check_disk_quota(&self, most: u64) -> Result<(), Fault> {
        let mut seen = self.0.disk_usage.lock().await;
        let holds = match *seen {
            Some((_, bytes)) if bytes >= most => RECOUNT_INTERVAL_MIN,
            Some(_) | None => USAGE_COUNT_TTL,
        };
        if seen.is_none_or(|(at, _)| at.elapsed() >= holds) {
            *seen = Some((Instant::now(), self.0.store.disk_bytes().await?));
        }
        match *seen {
            Some((_, bytes)) if bytes >= most => Err(Fault::Quota(format!(
                "the data directory holds {bytes} bytes, the quota is {most} (`quota.disk_bytes`); \
                 `tramline runs rm` removes old runs, and `retention` removes them automatically"
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether so much of the disk quota is used that old runs should be pruned now.
    pub async fn is_disk_nearly_full(&self) -> Result<bool, Fault> {
        let quota = self.0.options.quota;
        if quota.disk_bytes_max.is_none() {
            return Ok(false);
        }
        Ok(quota.is_nearly_full(self.0.store.disk_bytes().await?))
    }

    /// How many runs have started here that are not in the store yet.
    fn unwritten_runs(&self) -> u64 {
        let new = |live: &&Arc<ActiveRun>| !live.is_stored.load(Ordering::Acquire);
        self.0.active_runs().values().filter(new).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_nearly_full_before_its_quota_is_reached() {
        let quota = |most| Quota {
            disk_bytes_max: most,
            ..Quota::default()
        };
        assert!(!quota(Some(1_000)).is_nearly_full(799));
        assert!(quota(Some(1_000)).is_nearly_full(800));
        assert!(!quota(None).is_nearly_full(u64::MAX));
    }
}
